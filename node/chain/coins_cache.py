"""The coins of the tip: a write-back cache over the coin store.

Owns: which coins exist at the tip of the active chain. Never: whether spending one is allowed, when it is flushed.
Used by the chain thread alone, but for `get`, which may be called by others under the chain lock, and `end_flush`.

Changes lie in up to three layers: those that came last, those that a flush is writing, and the store below. An outpoint
is looked for in this order, so it makes no difference whether the store has the second layer's changes already. Copies of
what the store has shorten the way: those that were asked for, and the coins that the last flushes wrote, since what was
made a moment ago is soon spent. A coin's copy goes when the coin does.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from clarion.node.consensus.delta import BlockDelta
from clarion.node.consensus.disconnect import DisconnectDelta
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint
from clarion.node.storage.coin_store import CoinStore

ENTRY_BYTES = 250
"""Rough cost of one cached coin in bytes: outpoint, coin, script, two dictionary slots."""


class CoinsCache:
    """Coins that changed since the last flush over the store's coins, and some of these that will be asked for again."""

    def __init__(self, store: CoinStore, max_kept_bytes: int = 0) -> None:
        """`max_kept_bytes`: how much the copies may take of coins that the store has."""
        self._store = store
        self._max_kept = max_kept_bytes // ENTRY_BYTES
        self._kept: dict[OutPoint, Coin] = {}
        """Coins that somebody will ask for again, as they are at the tip. They may be in the store alone."""
        self._recent: dict[OutPoint, Coin] = {}
        self._older: dict[OutPoint, Coin] = {}
        """Coins that the last flushes wrote, and the flushes before. They may be in the store alone."""
        self._fresh: dict[OutPoint, Coin] = {}
        """Coins that the store has never heard of: spending one leaves nothing to delete there."""
        self._changed: dict[OutPoint, Coin | None] = {}
        """The other changes, `None` for a spent coin. No outpoint is in both."""
        self._flushing: Mapping[OutPoint, Coin | None] = {}
        """The changes that a flush writes; neither they nor this mapping change until it is over."""

    @property
    def size_bytes(self) -> int:
        """Estimated memory in bytes of the changes that the store does not have, or may not have yet."""
        return self.unflushed_bytes + len(self._flushing) * ENTRY_BYTES

    @property
    def unflushed_bytes(self) -> int:
        """Estimated memory in bytes of the changes that no flush has begun to write."""
        return (len(self._fresh) + len(self._changed)) * ENTRY_BYTES

    def get(self, outpoint: OutPoint) -> Coin | None:
        """Return the coin, None if it is spent or never was."""
        coin = self._fresh.get(outpoint)
        if coin is not None:
            return coin
        for layer in (self._changed, self._flushing):
            if outpoint in layer:
                return layer[outpoint]
        return (
            self._kept.get(outpoint)
            or self._recent.get(outpoint)
            or self._older.get(outpoint)
            or self._store.fetch([outpoint]).get(outpoint)
        )

    def fetch(self, outpoints: Sequence[OutPoint]) -> dict[OutPoint, Coin]:
        """Return the unspent ones among `outpoints`, asking the store once for what the cache does not know."""
        find_fresh, changed, flushing, find_kept = self._fresh.get, self._changed, self._flushing, self._kept.get
        find_recent, find_older = self._recent.get, self._older.get
        found: dict[OutPoint, Coin] = {}
        missing = []
        for outpoint in outpoints:
            coin = find_fresh(outpoint)
            if coin is None:
                if outpoint in changed:
                    coin = changed[outpoint]
                    if coin is None:
                        continue
                elif outpoint in flushing:
                    coin = flushing[outpoint]
                    if coin is None:
                        continue
                else:
                    coin = find_kept(outpoint) or find_recent(outpoint) or find_older(outpoint)
                    if coin is None:
                        missing.append(outpoint)
                        continue
            found[outpoint] = coin
        if missing:
            found.update(self._store.fetch(missing))
        return found

    def existing(self, outpoints: Collection[OutPoint]) -> set[OutPoint]:
        """Return those of `outpoints` that are unspent."""
        return set(self.fetch(list(outpoints))) if outpoints else set()

    def keep(self, coins: Mapping[OutPoint, Coin]) -> None:
        """Have coins that are unspent at the tip at hand until they are spent or forgotten, as far as there is room."""
        if len(self._kept) + len(coins) <= self._max_kept:
            self._kept.update(coins)

    def forget(self, outpoints: Iterable[OutPoint]) -> None:
        """Keep these coins no longer."""
        for outpoint in outpoints:
            self._kept.pop(outpoint, None)

    def _drop_copies(self, outpoints: Iterable[OutPoint]) -> None:
        for outpoint in outpoints:
            for copies in (self._kept, self._recent, self._older):
                copies.pop(outpoint, None)

    def _keep_recent(self, coins: Mapping[OutPoint, Coin]) -> None:
        """Keep copies of coins that a flush writes; a large one needs the room itself."""
        most = max(0, self._max_kept - len(self._kept)) // 2
        if len(coins) > most:
            self._recent, self._older = {}, {}
            return
        if len(self._recent) + len(coins) > most:
            self._recent, self._older = {}, self._recent
        self._recent.update(coins)

    def connect(self, delta: BlockDelta, overwritten: Collection[OutPoint] = ()) -> None:
        """Apply a connected block. `overwritten` names coins that its outputs replace (BIP30's two exceptions)."""
        fresh, changed = self._fresh, self._changed
        if overwritten or not changed.keys().isdisjoint(delta.created):
            for outpoint, coin in delta.created.items():
                self._put(outpoint, coin, outpoint in overwritten)
        else:
            fresh.update(delta.created)
        take_fresh, take_kept, take_recent, take_older = fresh.pop, self._kept.pop, self._recent.pop, self._older.pop
        for tx in delta.block.txs[1:]:
            for txin in tx.inputs:
                prevout = txin.prevout
                take_kept(prevout, None)
                if take_fresh(prevout, None) is None:
                    changed[prevout] = None
                    take_recent(prevout, None)
                    take_older(prevout, None)
        self._drop_copies(overwritten)

    def disconnect(self, delta: DisconnectDelta) -> None:
        """Take back a disconnected block: its outputs go, the coins that it spent return."""
        self._drop_copies(delta.removed)
        for outpoint in delta.removed:
            if self._fresh.pop(outpoint, None) is None:
                self._changed[outpoint] = None
        for outpoint, coin in delta.restored.items():
            # The store may have it: it is not known where it was before it was spent.
            self._put(outpoint, coin, True)

    def _put(self, outpoint: OutPoint, coin: Coin, may_be_stored: bool) -> None:
        if outpoint not in self._fresh and (may_be_stored or outpoint in self._changed):
            self._changed[outpoint] = coin
        else:
            self._fresh[outpoint] = coin

    def begin_flush(self) -> Mapping[OutPoint, Coin | None]:
        """Return every change since the last flush, to be written; from now on they are not changed any more."""
        assert not self._flushing, "one flush at a time"
        self._keep_recent(self._fresh)
        changes = self._changed
        changes.update(self._fresh)
        self._fresh, self._changed, self._flushing = {}, {}, changes
        return changes

    def end_flush(self) -> None:
        """Let go of the changes that `begin_flush` returned: the store has them. Any thread may call it."""
        self._flushing = {}

    def flush(self, tip: BlockHash) -> None:
        """Write every change and the tip that they belong to in one transaction. Raises StorageError."""
        self._store.flush(self.begin_flush(), tip)
        self.end_flush()
