"""TRUC transactions (BIP431): version 3, at most one unconfirmed parent and one unconfirmed child, small.

Owns: both checks with their debug texts. Never: the pool itself; relatives are asked for by callables.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol, TypeVar

from clarion.node.mempool.policy.packages import Package
from clarion.node.primitives.ids import Txid, hash_to_hex, outpoint_txid
from clarion.node.primitives.transaction import Transaction

TRUC_VERSION = 3
TRUC_ANCESTOR_LIMIT = 2
TRUC_DESCENDANT_LIMIT = 2
"""Both count the transaction itself. The checks below hold for these two numbers only."""
TRUC_MAX_VSIZE = 10_000
TRUC_CHILD_MAX_VSIZE = 1_000


class Pooled(Protocol):
    """What policy must know of an entry of the pool."""

    @property
    def tx(self) -> Transaction:
        """The entry's transaction."""


EntryT = TypeVar("EntryT", bound=Pooled)
Relatives = Callable[[EntryT], Collection[EntryT]]
"""Returns an entry's ancestors, or its descendants, in the pool: with the entry itself."""


class TrucFault(NamedTuple):
    """The debug text, and the transaction that could make room: the only other child of the parent."""

    debug: str
    sibling: Transaction | None = None


def single_truc_checks(
    tx: Transaction,
    vsize: int,
    parents: Sequence[EntryT],
    direct_conflicts: Collection[Txid],
    ancestors: Relatives[EntryT],
    descendants: Relatives[EntryT],
) -> TrucFault | None:
    """Return None if `tx`, of any version, keeps the rules beside its parents in the pool, else why not.

    `vsize` is sigop-adjusted. `direct_conflicts` are transactions of the pool that `tx` would replace.
    """
    for parent in parents:
        debug = _inheritance_fault(tx, parent.tx)
        if debug is not None:
            return TrucFault(debug)
    if tx.version != TRUC_VERSION:
        return None
    if vsize > TRUC_MAX_VSIZE:
        return TrucFault(_too_big(tx, "", vsize, TRUC_MAX_VSIZE))
    if len(parents) + 1 > TRUC_ANCESTOR_LIMIT:
        return TrucFault(_too_many_ancestors(tx))
    if not parents:
        return None
    if len(ancestors(parents[0])) + 1 > TRUC_ANCESTOR_LIMIT:
        return TrucFault(_too_many_ancestors(tx))
    if vsize > TRUC_CHILD_MAX_VSIZE:
        return TrucFault(_too_big(tx, "child ", vsize, TRUC_CHILD_MAX_VSIZE))
    return _sibling_fault(parents[0], direct_conflicts, ancestors, descendants)


def _sibling_fault(
    parent: EntryT, direct_conflicts: Collection[Txid], ancestors: Relatives[EntryT], descendants: Relatives[EntryT]
) -> TrucFault | None:
    siblings = [entry for entry in descendants(parent) if entry.tx.txid != parent.tx.txid]
    if not siblings or any(entry.tx.txid in direct_conflicts for entry in siblings):
        return None
    # A reorganisation can leave a parent with several children, or a child with one of its own: then there is no
    # single one whose eviction would do.
    evictable = len(siblings) == 1 and len(ancestors(siblings[0])) == TRUC_ANCESTOR_LIMIT
    return TrucFault(_too_many_descendants(parent.tx), siblings[0].tx if evictable else None)


def package_truc_checks(
    tx: Transaction,
    vsize: int,
    package: Package,
    parents: Sequence[EntryT],
    ancestors: Relatives[EntryT],
    descendants: Relatives[EntryT],
) -> str | None:
    """Return None if `tx` keeps the rules as part of `package`, else the debug text.

    `package` is sorted and holds this very object; `parents` are those in the pool. `single_truc_checks` has looked
    at the transaction's size before.
    """
    package_parents = _package_parents(package, tx)
    if tx.version != TRUC_VERSION:
        all_parents = [entry.tx for entry in parents] + package_parents
        faults = (_inheritance_fault(tx, parent) for parent in all_parents)
        return next((fault for fault in faults if fault is not None), None)
    if vsize > TRUC_MAX_VSIZE:
        return _too_big(tx, "", vsize, TRUC_MAX_VSIZE)
    if len(parents) + len(package_parents) + 1 > TRUC_ANCESTOR_LIMIT:
        return _too_many_ancestors(tx)
    if parents and len(ancestors(parents[0])) + 1 > TRUC_ANCESTOR_LIMIT:
        return _too_many_ancestors(tx)
    if not parents and not package_parents:
        return None
    if vsize > TRUC_CHILD_MAX_VSIZE:
        return _too_big(tx, "child ", vsize, TRUC_CHILD_MAX_VSIZE)
    parent = parents[0].tx if parents else package_parents[0]
    fault = _inheritance_fault(tx, parent) or _package_relatives_fault(tx, parent, package)
    if fault is None and parents and len(descendants(parents[0])) > 1:
        return _too_many_descendants(parent)
    return fault


def _package_parents(package: Package, tx: Transaction) -> list[Transaction]:
    wanted = {outpoint_txid(txin.prevout) for txin in tx.inputs}
    found = []
    for other in package:
        if other is tx:
            break
        if other.txid in wanted:
            found.append(other)
    return found


def _package_relatives_fault(tx: Transaction, parent: Transaction, package: Package) -> str | None:
    """Return the fault if another member is the parent's second child, or a child of `tx`, which has a parent."""
    for other in package:
        if other is tx:
            continue
        for txin in other.inputs:
            spends = outpoint_txid(txin.prevout)
            if spends == parent.txid:
                return _too_many_descendants(parent)
            if spends == tx.txid:
                return _too_many_ancestors(other)
    return None


def _named(tx: Transaction) -> str:
    return f"{hash_to_hex(tx.txid)} (wtxid={hash_to_hex(tx.wtxid)})"


def _inheritance_fault(tx: Transaction, parent: Transaction) -> str | None:
    if (tx.version == TRUC_VERSION) == (parent.version == TRUC_VERSION):
        return None
    child_kind, parent_kind = ("", "non-") if tx.version == TRUC_VERSION else ("non-", "")
    return f"{child_kind}version=3 tx {_named(tx)} cannot spend from {parent_kind}version=3 tx {_named(parent)}"


def _too_big(tx: Transaction, kind: str, vsize: int, limit: int) -> str:
    return f"version=3 {kind}tx {_named(tx)} is too big: {vsize} > {limit} virtual bytes"


def _too_many_ancestors(tx: Transaction) -> str:
    return f"tx {_named(tx)} would have too many ancestors"


def _too_many_descendants(tx: Transaction) -> str:
    return f"tx {_named(tx)} would exceed descendant count limit"
