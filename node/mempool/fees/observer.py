"""What the fee estimator hears of the pool.

Owns: which changes count for estimation. Never: estimating.
"""

from collections.abc import Sequence

from clarion.node.mempool.changes import Added, Removed
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.fees.estimator import FeeEstimator


class FeeObserver:
    """Passes the pool's changes on. Satisfies `mempool.changes.PoolObserver`."""

    def __init__(self, estimator: FeeEstimator) -> None:
        self._estimator = estimator

    def tx_added(self, added: Added) -> None:
        """Tell of a transaction; one whose wait depends on others, or was let in for other reasons, teaches nothing."""
        valid = added.chain_current and added.no_pool_parents and not (added.limits_bypassed or added.in_package)
        entry = added.entry
        self._estimator.process_transaction(entry.txid, entry.base_fee_sat, entry.vsize, entry.height, valid=valid)

    def tx_removed(self, removed: Removed) -> None:
        """Tell of a transaction that left unmined."""
        self._estimator.remove_transaction(removed.entry.txid)

    def confirmed(self, entries: Sequence[MempoolEntry], sequence: int) -> None:
        """Do nothing: the block is learnt from once it is committed."""

    def removed_for_block(self, entries: Sequence[MempoolEntry], height: int) -> None:
        """Tell of a block."""
        self._estimator.process_block(height, [entry.txid for entry in entries])
