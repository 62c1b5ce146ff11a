"""Additions and removals that are tried out on the graph before the pool is changed.

Owns: one proposal at a time. Never: whether it is allowed (see `accept`).
Runs on the chain thread, under the pool's lock.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from clarion.node.mempool.changes import RemovalReason
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.feefrac import FeeFrac
from clarion.node.mempool.graph import Level
from clarion.node.mempool.lock_points import LockPoints
from clarion.node.mempool.memory_usage import transaction_usage
from clarion.node.mempool.policy.size import sigop_adjusted_weight
from clarion.node.primitives.ids import Txid, outpoint_txid
from clarion.node.primitives.transaction import Transaction

if TYPE_CHECKING:
    from clarion.node.mempool.pool import Mempool


class ChangeSet:
    """A proposal; leaving its `with` block without `apply` drops it.

    Removals may be staged in any order, additions parents first. While it exists, the pool is changed through it alone.
    """

    def __init__(self, pool: Mempool) -> None:
        self._pool = pool
        self._linked = True
        self.added: list[MempoolEntry] = []
        """What is staged, in the order of staging."""
        self._removed: dict[Txid, MempoolEntry] = {}

    def __enter__(self) -> ChangeSet:
        assert self._pool.change_set_open is False, "one change set at a time"
        self._pool.change_set_open = True
        self._pool.graph.start_staging()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool.graph.have_staging:
            self._pool.graph.abort_staging()
        self._pool.change_set_open = False

    @property
    def removed(self) -> list[MempoolEntry]:
        """What is staged for removal, in the order in which it will be told."""
        return [self._removed[txid] for txid in sorted(self._removed)]

    def stage_addition(
        self,
        tx: Transaction,
        fee_sat: int,
        *,
        time: int,
        height: int,
        sequence: int,
        spends_coinbase: bool,
        sigop_cost: int,
        lock_points: LockPoints,
    ) -> MempoolEntry:
        """Return the entry that `tx` would get, with the fee delta that it was promised. See `MempoolEntry`."""
        pool = self._pool
        entry = MempoolEntry(
            tx,
            fee_sat,
            weight=sigop_adjusted_weight(tx.weight, sigop_cost, pool.options.bytes_per_sigop),
            time=time,
            height=height,
            sequence=sequence,
            spends_coinbase=spends_coinbase,
            sigop_cost=sigop_cost,
            lock_points=lock_points,
            usage_bytes=transaction_usage(tx),
        )
        pool.graph.add_transaction(entry)
        delta = pool.fee_delta(tx.txid)
        if delta:
            pool.graph.set_transaction_fee(entry, saturating_add(fee_sat, delta))
        self.added.append(entry)
        self._linked = False
        return entry

    def stage_removal(self, entry: MempoolEntry) -> None:
        """Have `entry`, and nothing else, go. Its descendants must be staged as well."""
        self._pool.graph.remove_transaction(entry)
        self._removed[entry.txid] = entry

    def _link(self) -> None:
        """Tell the graph who spends whom. Once: before it, no addition has a parent."""
        if self._linked:
            return
        staged = {entry.txid: entry for entry in self.added}
        for entry in self.added:
            for txin in entry.tx.inputs:
                txid = outpoint_txid(txin.prevout)
                parent = self._pool.entries.get(txid) or staged.get(txid)
                if parent is not None:
                    self._pool.graph.add_dependency(parent, entry)
        self._linked = True

    def check_limits(self) -> bool:
        """Whether no cluster of the proposed pool is too large."""
        self._link()
        return not self._pool.graph.is_oversized(Level.TOP)

    def ancestors(self, entry: MempoolEntry) -> set[MempoolEntry]:
        """Return the ancestors of a staged entry among the transactions that are in the pool now."""
        return self._pool.ancestors(entry)

    def chunks_for_rbf(self) -> tuple[list[FeeFrac], list[FeeFrac]] | None:
        """Return the feerate diagrams of what changes, before and after; None if a cluster is too large."""
        if not self.check_limits():
            return None
        return self._pool.graph.main_staging_diagrams()

    def apply(self) -> None:
        """Make it so: removals are told in the order of txids, then the additions are in the pool."""
        self._link()
        pool = self._pool
        pool.graph.commit_staging()
        for entry in self.removed:
            pool.remove_unchecked(entry, RemovalReason.REPLACED, self._replacement_of(entry))
        for entry in self.added:
            pool.insert_unchecked(entry)
        pool.graph.do_work()

    def _replacement_of(self, entry: MempoolEntry) -> Txid | None:
        """Return the staged transaction that spends what `entry` spends, else the last one: it made room for that."""
        if not self.added:
            return None
        prevouts = {txin.prevout for txin in entry.tx.inputs}
        for other in self.added:
            if any(txin.prevout in prevouts for txin in other.tx.inputs):
                return other.txid
        return self.added[-1].txid


_INT64_MAX = 2**63 - 1


def saturating_add(left: int, right: int) -> int:
    """Return the sum, kept within int64 as the reference does with fees."""
    return max(-_INT64_MAX - 1, min(_INT64_MAX, left + right))
