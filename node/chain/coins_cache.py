"""The coins of the tip: a write-back cache over the coin store.

Owns: which coins exist at the tip of the active chain. Never: whether spending one is allowed.
Used by the chain thread alone, but for `get`, which may be called by others under the chain lock.
"""

from collections.abc import Collection, Mapping, Sequence

from clarion.node.consensus.delta import BlockDelta
from clarion.node.consensus.disconnect import DisconnectDelta
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint
from clarion.node.storage.coin_store import CoinStore

ENTRY_BYTES = 250
"""Rough cost of one cached coin in bytes: outpoint, coin, script, two dictionary slots."""


class CoinsCache:
    """Coins that changed since the last flush (`None` marks a spent one) over the store's coins."""

    def __init__(self, store: CoinStore) -> None:
        self._store = store
        self._changes: dict[OutPoint, Coin | None] = {}
        self._fresh: set[OutPoint] = set()
        """Outpoints of `_changes` that the store does not hold: spending them leaves nothing to delete there."""

    @property
    def size_bytes(self) -> int:
        """Estimated memory of the unflushed changes in bytes."""
        return len(self._changes) * ENTRY_BYTES

    def get(self, outpoint: OutPoint) -> Coin | None:
        """Return the coin, None if it is spent or never was."""
        if outpoint in self._changes:
            return self._changes[outpoint]
        return self._store.fetch([outpoint]).get(outpoint)

    def fetch(self, outpoints: Sequence[OutPoint]) -> dict[OutPoint, Coin]:
        """Return the unspent ones among `outpoints`, asking the store once for what the cache does not know."""
        changes = self._changes
        found: dict[OutPoint, Coin] = {}
        missing = []
        for outpoint in outpoints:
            if outpoint in changes:
                coin = changes[outpoint]
                if coin is not None:
                    found[outpoint] = coin
            else:
                missing.append(outpoint)
        if missing:
            found.update(self._store.fetch(missing))
        return found

    def existing(self, outpoints: Collection[OutPoint]) -> set[OutPoint]:
        """Return those of `outpoints` that are unspent."""
        return set(self.fetch(list(outpoints))) if outpoints else set()

    def connect(self, delta: BlockDelta, overwritten: Collection[OutPoint] = ()) -> None:
        """Apply a connected block. `overwritten` names coins that its outputs replace (BIP30's two exceptions)."""
        changes, fresh = self._changes, self._fresh
        for outpoint, coin in delta.created.items():
            if outpoint not in changes and outpoint not in overwritten:
                fresh.add(outpoint)
            changes[outpoint] = coin
        for tx in delta.block.txs[1:]:
            for txin in tx.inputs:
                self._remove(txin.prevout)

    def disconnect(self, delta: DisconnectDelta) -> None:
        """Take back a disconnected block: its outputs go, the coins that it spent return."""
        for outpoint in delta.removed:
            self._remove(outpoint)
        self._changes.update(delta.restored)

    def _remove(self, outpoint: OutPoint) -> None:
        if outpoint in self._fresh:
            self._fresh.discard(outpoint)
            del self._changes[outpoint]
        else:
            self._changes[outpoint] = None

    def flush(self, tip: BlockHash) -> None:
        """Write every change and the tip that they belong to in one transaction. Raises StorageError."""
        self._store.flush(self._changes, tip)
        self._changes = {}
        self._fresh = set()

    @property
    def changes(self) -> Mapping[OutPoint, Coin | None]:
        """The unflushed changes, for reading."""
        return self._changes
