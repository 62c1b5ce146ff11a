"""Keeps the coins that the mempool spends at hand: the block that confirms a transaction will ask for them again.

Owns: for how long. Never: where they are kept, or how many (see `chain.coins_cache`).
"""

from collections.abc import Sequence

from clarion.node.chain.state import ChainState
from clarion.node.mempool.changes import Added, Removed
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.lock_points import MEMPOOL_HEIGHT


class KeptCoins:
    """Hears of the pool's changes (`changes.PoolObserver`)."""

    def __init__(self, state: ChainState) -> None:
        self._state = state

    def tx_added(self, added: Added) -> None:
        """Keep the coins of the chain that a transaction spends."""
        inputs = added.entry.tx.inputs
        self._state.coins.keep(
            {
                txin.prevout: coin
                for txin, coin in zip(inputs, added.spent, strict=True)
                if coin.height != MEMPOOL_HEIGHT
            }
        )

    def tx_removed(self, removed: Removed) -> None:
        """Let them go with the transaction."""
        self._state.coins.forget([txin.prevout for txin in removed.entry.tx.inputs])

    def confirmed(self, entries: Sequence[MempoolEntry], sequence: int) -> None:
        """Do nothing: the coins that a block spends are gone."""

    def removed_for_block(self, entries: Sequence[MempoolEntry], height: int) -> None:
        """Do nothing."""
