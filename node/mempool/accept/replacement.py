"""Replacement: whether what comes in is worth more than what it pushes out.

Owns: the checks of one transaction and of a package of two against the pool, in the reference's order with its reasons.
Never: the fee rules themselves (`policy.rbf`), how feerate diagrams are made (`graph`).
Used on the chain thread, under the pool's lock.
"""

from collections.abc import Collection, Sequence

from clarion.node.mempool.accept.package_failure import policy_failed
from clarion.node.mempool.accept.rejection import TxRejected, TxRejection
from clarion.node.mempool.accept.workspace import Subpackage, Workspace
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.feefrac import compare_chunks
from clarion.node.mempool.graph import Level
from clarion.node.mempool.policy.packages import is_child_with_parents
from clarion.node.mempool.policy.rbf import conflict_clusters_fault, entries_and_txids_disjoint, pays_for_rbf
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.ids import Txid

_NOT_IMPROVED = "insufficient feerate: does not improve feerate diagram"


def replacement_checks(pool: Mempool, sub: Subpackage, ws: Workspace) -> None:
    """Judge a single transaction that conflicts with the pool, and stage what it replaces. Raises TxRejected."""
    txid, suffix = ws.tx.txid, " (including sibling eviction)" if ws.sibling_eviction else ""
    # 1. too many potential replacements (rule 5)
    replaced, fault = _all_conflicts(pool, txid, ws.conflicts.values())
    if fault is not None:
        raise TxRejected(TxRejection.TX_MEMPOOL_POLICY, f"too many potential replacements{suffix}", fault)
    # 2. insufficient fee (rules 3 and 4); a package may pay it.
    sub.count_replaced(replaced)
    fault = pays_for_rbf(
        sub.conflicting_fee_sat, ws.entry.fee_sat, ws.entry.vsize, pool.options.incremental_relay_feerate, txid
    )
    if fault is not None:
        raise TxRejected(TxRejection.TX_RECONSIDERABLE, f"insufficient fee{suffix}", fault)
    # 3. too-large-cluster
    for entry in replaced:
        sub.changes.stage_removal(entry)
    if not sub.changes.check_limits():
        raise TxRejected(TxRejection.TX_MEMPOOL_POLICY, "too-large-cluster")
    # 4. replacement-failed
    if not _improves_feerate_diagram(sub):
        raise TxRejected(TxRejection.TX_RECONSIDERABLE, "replacement-failed", _NOT_IMPROVED)


def check_spends_no_conflict(sub: Subpackage, ws: Workspace) -> None:
    """Refuse a transaction that depends on what it would replace. Raises TxRejected."""
    ancestors = [entry.txid for entry in sub.changes.ancestors(ws.entry)]
    fault = entries_and_txids_disjoint(ancestors, ws.conflicts, ws.tx.txid)
    if fault is not None:
        raise TxRejected(TxRejection.TX_CONSENSUS, "bad-txns-spends-conflicting-tx", fault)


def package_rbf_checks(pool: Mempool, sub: Subpackage, workspaces: Sequence[Workspace]) -> None:
    """Judge a package of which a member conflicts with the pool, and stage what it replaces. Raises PackageFailed."""
    # 1. Only a child with one parent, which must be a cluster of their own.
    if len(workspaces) != 2 or not is_child_with_parents([ws.tx for ws in workspaces]):
        raise policy_failed("package RBF failed: package must be 1-parent-1-child")
    if any(ws.parents for ws in workspaces):
        raise policy_failed("package RBF failed: new transaction cannot have mempool ancestors")
    parent, child = workspaces
    # 2. Rule 5, for the conflicts of both.
    direct = {**parent.conflicts, **child.conflicts}
    replaced, fault = _all_conflicts(pool, child.tx.txid, direct.values())
    if fault is not None:
        raise policy_failed("package RBF failed: too many potential replacements", fault)
    for entry in replaced:
        sub.changes.stage_removal(entry)
    # 3. Rules 3 and 4, paid by both together.
    sub.count_replaced(replaced)
    fault = pays_for_rbf(
        sub.conflicting_fee_sat,
        sub.total_modified_fee_sat,
        sub.total_vsize,
        pool.options.incremental_relay_feerate,
        child.tx.txid,
    )
    if fault is not None:
        raise policy_failed("package RBF failed: insufficient anti-DoS fees", fault)
    # 4. The child must raise the parent's rate: else it pays for relay only.
    if sub.feerate <= parent.feerate:
        raise policy_failed(
            "package RBF failed: package feerate is less than or equal to parent feerate",
            f"package feerate {sub.feerate} <= parent feerate is {parent.feerate}",
        )
    # 5. too-large-cluster
    if not sub.changes.check_limits():
        raise policy_failed("too-large-cluster")
    # 6. The feerate diagram
    if not _improves_feerate_diagram(sub):
        raise policy_failed(f"package RBF failed: {_NOT_IMPROVED}")


def _all_conflicts(
    pool: Mempool, txid: Txid, direct: Collection[MempoolEntry]
) -> tuple[list[MempoolEntry], str | None]:
    """Return all that would have to go, or why that touches too many clusters."""
    fault = conflict_clusters_fault(txid, pool.graph.count_distinct_clusters(direct, Level.MAIN))
    if fault is not None:
        return [], fault
    return pool.graph.descendants_union(direct, Level.MAIN), None


def _improves_feerate_diagram(sub: Subpackage) -> bool:
    diagrams = sub.changes.chunks_for_rbf()
    assert diagrams is not None, "the cluster limits were checked before"
    before, after = diagrams
    return compare_chunks(after, before) == 1
