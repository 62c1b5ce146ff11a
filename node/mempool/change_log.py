"""Changes of the mempool as rows of the event log.

Owns: what a row says of each change. Never: the order of changes, which is the caller's and that of the reference's
signals; the order of rows and their commits (see `chain.journal`).
"""

from collections.abc import Sequence

from clarion.node.chain.journal import Journal
from clarion.node.events.mempool_rows import BLOCK_REASON, added_body, removed_body, reset_body
from clarion.node.events.row import EventKind
from clarion.node.mempool.changes import Added, Removed
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.transaction import Transaction


class ChangeLog:
    """Notes every change in the journal. All calls run on the chain thread, in the moment of the reference's signal.

    Satisfies `changes.PoolObserver`.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def reset(self, mempool_sequence: int) -> None:
        """Note that the mempool starts empty; `mempool_sequence` is what its first change will have."""
        self._journal.pool_row(EventKind.MEMPOOL_RESET, reset_body(mempool_sequence))

    def added(
        self, tx: Transaction, spent: Sequence[SpentOutput], *, fee_sat: int, vsize: int, mempool_sequence: int
    ) -> None:
        """Note that `tx` entered, spending the outputs `spent` (in the order of its inputs)."""
        body = added_body(mempool_sequence, fee_sat, vsize, tx.raw, spent)
        self._journal.pool_row(EventKind.TX_ADDED, body, txid=tx.txid)

    def removed(self, txid: Txid, reason: str, mempool_sequence: int, replaced_by: Txid | None = None) -> None:
        """Note that a transaction left for `reason`, one of the reference's words; `replaced_by` took its place."""
        if reason == BLOCK_REASON:
            self._journal.confirmed(txid, mempool_sequence)
            return
        body = removed_body(mempool_sequence, replaced_by)
        self._journal.pool_row(EventKind.TX_REMOVED, body, txid=txid, reason=reason)

    def tx_added(self, added: Added) -> None:
        """Note what the pool tells of an addition."""
        entry = added.entry
        self.added(
            entry.tx, added.spent, fee_sat=entry.base_fee_sat, vsize=entry.vsize, mempool_sequence=added.sequence
        )

    def tx_removed(self, removed: Removed) -> None:
        """Note what the pool tells of a removal."""
        self.removed(removed.entry.txid, removed.reason, removed.sequence, removed.replaced_by)

    def removed_for_block(self, entries: Sequence[MempoolEntry], height: int) -> None:
        """Do nothing: each removal has been told."""
