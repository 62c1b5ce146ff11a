"""Changes of the mempool as rows of the event log.

Owns: what a row says of each change. Never: the order of changes, which is the pool's and that of the reference's signals;
the order of rows and their commits (see `chain.journal`).
"""

from collections.abc import Sequence

from clarion.node.chain.journal import Journal
from clarion.node.events.mempool_rows import added_body, removed_body, reset_body
from clarion.node.events.row import EventKind
from clarion.node.mempool.changes import Added, Removed
from clarion.node.mempool.entry import MempoolEntry


class ChangeLog:
    """Notes every change in the journal, in the moment of the reference's signal (a `PoolObserver`)."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def reset(self, mempool_sequence: int) -> None:
        """Note that the mempool starts empty; its first change will have `mempool_sequence`. Runs on the chain thread."""
        self._journal.pool_row(EventKind.MEMPOOL_RESET, reset_body(mempool_sequence))

    def tx_added(self, added: Added) -> None:
        """Note a transaction with all that nothing else could replay once it has left."""
        entry = added.entry
        body = added_body(added.sequence, entry.base_fee_sat, entry.vsize, entry.tx.raw, added.spent)
        self._journal.pool_row(EventKind.TX_ADDED, body, txid=entry.txid)

    def tx_removed(self, removed: Removed) -> None:
        """Note that a transaction has left, and why."""
        body = removed_body(removed.sequence, removed.replaced_by)
        self._journal.pool_row(EventKind.TX_REMOVED, body, txid=removed.entry.txid, reason=removed.reason.value)

    def confirmed(self, entries: Sequence[MempoolEntry], sequence: int) -> None:
        """Note that transactions leave for a block: it is committed together with that."""
        self._journal.confirmed([(entry.txid, sequence + at) for at, entry in enumerate(entries)])

    def removed_for_block(self, entries: Sequence[MempoolEntry], height: int) -> None:
        """Do nothing: they were noted before."""
