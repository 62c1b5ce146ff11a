"""Packages: lists of transactions that are judged together.

Owns: the checks that need nothing but the list, and its hash. Never: the pool. The transactions are ordered: every
parent stands before its children.
"""

from collections.abc import Sequence

from clarion.node.primitives.hashes import sha256
from clarion.node.primitives.ids import OutPoint, Txid, outpoint_txid
from clarion.node.primitives.transaction import Transaction

MAX_PACKAGE_COUNT = 25
MAX_PACKAGE_WEIGHT = 404_000

Package = Sequence[Transaction]


def is_well_formed_package(package: Package) -> str | None:
    """Return None, or the reference's reason why this is no package."""
    if len(package) > MAX_PACKAGE_COUNT:
        return "package-too-many-transactions"
    # A single transaction that is too heavy is told by its own reason later.
    if len(package) > 1 and sum(tx.weight for tx in package) > MAX_PACKAGE_WEIGHT:
        return "package-too-large"
    if len({tx.txid for tx in package}) != len(package):
        return "package-contains-duplicates"
    if not is_topo_sorted_package(package):
        return "package-not-sorted"
    if not is_consistent_package(package):
        return "conflict-in-package"
    return None


def is_topo_sorted_package(package: Package) -> bool:
    """Whether no transaction spends one that stands behind it (or itself)."""
    later = {tx.txid for tx in package}
    for tx in package:
        if not later.isdisjoint(_parent_txids(tx)):
            return False
        later.discard(tx.txid)
    return True


def is_consistent_package(package: Package) -> bool:
    """Whether no two transactions spend the same output. One without inputs makes any package inconsistent.

    A transaction that spends an output twice is not looked for: consensus has its own word for that.
    """
    seen: set[OutPoint] = set()
    for tx in package:
        prevouts = {txin.prevout for txin in tx.inputs}
        if not prevouts or not seen.isdisjoint(prevouts):
            return False
        seen |= prevouts
    return True


def is_child_with_parents(package: Package) -> bool:
    """Whether the last transaction spends each of the others, which are one at least."""
    if len(package) < 2:
        return False
    parents = _parent_txids(package[-1])
    return all(tx.txid in parents for tx in package[:-1])


def is_child_with_parents_tree(package: Package) -> bool:
    """Whether it is a child with its parents, none of which spends another."""
    if not is_child_with_parents(package):
        return False
    parents = {tx.txid for tx in package[:-1]}
    return all(parents.isdisjoint(_parent_txids(tx)) for tx in package[:-1])


def package_hash(package: Package) -> bytes:
    """Return SHA-256 of the wtxids, which are sorted as the numbers that people see. 32 bytes."""
    numbers = sorted(tx.wtxid[::-1] for tx in package)
    return sha256(b"".join([number[::-1] for number in numbers]))


def _parent_txids(tx: Transaction) -> set[Txid]:
    return {outpoint_txid(txin.prevout) for txin in tx.inputs}
