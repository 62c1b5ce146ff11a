"""The coins that a transaction of the pool may spend: those of the chain's tip, and what the pool itself makes.

Owns: that a pool output comes before the chain's. Never: whether the pool spends a coin already (replacements must see
those). Used on the chain thread.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.lock_points import MEMPOOL_HEIGHT
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, Txid, make_outpoint, outpoint_index, outpoint_txid
from clarion.node.primitives.transaction import Transaction

_CODE = MEMPOOL_HEIGHT * 2

FetchCoins = Callable[[Sequence[OutPoint]], Mapping[OutPoint, Coin]]
"""Returns the unspent ones among outpoints of the chain, in one go."""


class MempoolCoins:
    """Coins of the pool and of the package at hand over those of the chain (the reference's CCoinsViewMemPool).

    Coins of the pool have the height `MEMPOOL_HEIGHT`. Chain coins are remembered: one view is for one tip.
    """

    def __init__(self, entries: Mapping[Txid, MempoolEntry], fetch: FetchCoins) -> None:
        self._entries = entries
        self._fetch = fetch
        self._chain: dict[OutPoint, Coin | None] = {}
        self._package: dict[OutPoint, Coin] = {}

    def add_package_transaction(self, tx: Transaction) -> None:
        """Offer the outputs of a transaction that is not in the pool yet."""
        for index, txout in enumerate(tx.outputs):
            self._package[make_outpoint(tx.txid, index)] = Coin(txout.value, txout.script_pubkey, _CODE)

    def clear_package(self) -> None:
        """Forget what the package offered."""
        self._package.clear()

    def prefetch(self, txs: Iterable[Transaction]) -> None:
        """Ask the chain once for all coins that these transactions spend and that the pool does not make."""
        wanted = {
            txin.prevout: None
            for tx in txs
            for txin in tx.inputs
            if txin.prevout not in self._chain and outpoint_txid(txin.prevout) not in self._entries
        }
        if wanted:
            found = self._fetch(list(wanted))
            self._chain.update((outpoint, found.get(outpoint)) for outpoint in wanted)

    def get(self, outpoint: OutPoint) -> Coin | None:
        """Return the coin, None if it is not there or spent in the chain."""
        coin = self._package.get(outpoint)
        if coin is not None:
            return coin
        entry = self._entries.get(outpoint_txid(outpoint))
        if entry is not None:
            index = outpoint_index(outpoint)
            if index >= len(entry.tx.outputs):
                return None
            txout = entry.tx.outputs[index]
            return Coin(txout.value, txout.script_pubkey, _CODE)
        if outpoint not in self._chain:
            self._chain[outpoint] = self._fetch([outpoint]).get(outpoint)
        return self._chain[outpoint]

    def spent_by(self, tx: Transaction) -> list[Coin | None]:
        """Return the coin that each input spends, None where there is none."""
        self.prefetch([tx])
        return [self.get(txin.prevout) for txin in tx.inputs]
