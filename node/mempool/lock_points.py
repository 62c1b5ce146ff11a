"""When a transaction of the pool may be in the next block: lock times and relative locks, seen from a tip.

Owns: the reference's LockPoints, which spare the pool the coins' heights after a reorganisation. Never: coins.
"""

from collections.abc import Sequence
from typing import NamedTuple

from clarion.node.chain.active_chain import ActiveChain
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.consensus.tx_verify import (
    calculate_sequence_locks,
    evaluate_sequence_locks,
    has_sequence_locks,
    is_final_tx,
)
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.transaction import Transaction

MEMPOOL_HEIGHT = 0x7FFFFFFF
"""The height of a coin that a transaction of the pool makes."""


class LockPoints(NamedTuple):
    """The last height and the last median time past at which a transaction is still locked (BIP68), -1 for none.

    They hold as long as `max_input_block` is in the active chain, and always if it is None.
    """

    height: int
    time: int
    max_input_block: BlockIndexEntry | None

    def valid_in(self, active: ActiveChain) -> bool:
        """Whether they hold in this chain."""
        return self.max_input_block is None or self.max_input_block in active


NO_LOCK_POINTS = LockPoints(-1, -1, None)
"""Those of every transaction without relative locks."""


def calculate_lock_points(tip: BlockIndexEntry, tx: Transaction, spent: Sequence[Coin]) -> LockPoints:
    """Return the lock points for a block on top of `tip`. `spent` holds the coin that each input spends.

    Coins of the pool are taken to be confirmed in that very block.
    """
    if not has_sequence_locks(tx):
        return NO_LOCK_POINTS
    next_height = tip.height + 1
    heights = [next_height if coin.height == MEMPOOL_HEIGHT else coin.height for coin in spent]
    locks = calculate_sequence_locks(tx, heights, tip)
    # A coin of the pool needs no block: any lock on it but zero is too long for the next block anyway.
    last = max((height for height in heights if height != next_height), default=0)
    return LockPoints(*locks, tip.ancestor(last))


def check_sequence_locks_at_tip(tip: BlockIndexEntry, lock_points: LockPoints) -> bool:
    """Whether the relative locks allow the transaction in a block on top of `tip`."""
    return evaluate_sequence_locks((lock_points.height, lock_points.time), tip)


def check_final_at_tip(tip: BlockIndexEntry, tx: Transaction) -> bool:
    """Whether the lock time allows the transaction in a block on top of `tip` (BIP113)."""
    return is_final_tx(tx, tip.height + 1, tip.median_time_past())
