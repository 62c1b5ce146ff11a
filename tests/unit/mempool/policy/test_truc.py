"""TRUC rules, one transaction and whole packages, against a small pool."""

from clarion.node.mempool.policy.packages import Package
from clarion.node.mempool.policy.truc import TrucFault, package_truc_checks, single_truc_checks
from clarion.node.primitives.ids import Txid, hash_to_hex, outpoint_txid
from clarion.node.primitives.transaction import Transaction
from helpers.simple_txs import coin_of, output_of, simple_tx

PARENT = simple_tx([coin_of(1)], [1000, 2000, 3000], version=3)
CHILD = simple_tx([output_of(PARENT)], version=3)
OLD = simple_tx([coin_of(2)], [1000, 2000], version=2)


class Entry:
    """An entry that knows no more than its transaction."""

    def __init__(self, tx: Transaction) -> None:
        self.tx = tx


class Pool:
    """Finds relatives by looking at every transaction."""

    def __init__(self, *txs: Transaction) -> None:
        self.entries = {tx.txid: Entry(tx) for tx in txs}

    def parents(self, tx: Transaction) -> list[Entry]:
        """Return the parents of a transaction, itself in the pool or not."""
        txids = {outpoint_txid(txin.prevout): None for txin in tx.inputs}
        return [self.entries[txid] for txid in txids if txid in self.entries]

    def ancestors(self, entry: Entry) -> list[Entry]:
        """Return the entry and its ancestors."""
        found = {entry.tx.txid: entry}
        for parent in self.parents(entry.tx):
            found.update({each.tx.txid: each for each in self.ancestors(parent)})
        return list(found.values())

    def descendants(self, entry: Entry) -> list[Entry]:
        """Return the entry and its descendants."""
        return [each for each in self.entries.values() if entry in self.ancestors(each)]

    def single(self, tx: Transaction, vsize: int = 100, conflicts: tuple[Txid, ...] = ()) -> TrucFault | None:
        """Check a transaction alone."""
        return single_truc_checks(tx, vsize, self.parents(tx), conflicts, self.ancestors, self.descendants)

    def package(self, tx: Transaction, package: Package, vsize: int = 100) -> str | None:
        """Check a member of a package."""
        return package_truc_checks(tx, vsize, package, self.parents(tx), self.ancestors, self.descendants)


def named(tx: Transaction) -> str:
    """Return both hashes as the texts show them."""
    return f"{hash_to_hex(tx.txid)} (wtxid={hash_to_hex(tx.wtxid)})"


def test_versions_do_not_mix() -> None:
    pool = Pool(PARENT, OLD)
    old_child = simple_tx([output_of(PARENT)], version=2)
    truc_child = simple_tx([output_of(OLD)], version=3, witness=(b"\x01",))
    assert pool.single(old_child) == TrucFault(
        f"non-version=3 tx {named(old_child)} cannot spend from version=3 tx {named(PARENT)}"
    )
    text = f"version=3 tx {named(truc_child)} cannot spend from non-version=3 tx {named(OLD)}"
    assert pool.single(truc_child) == TrucFault(text)
    assert Pool().package(truc_child, [OLD, truc_child]) == text
    assert pool.package(truc_child, [truc_child]) == text
    assert pool.single(simple_tx([output_of(OLD)], version=2), vsize=90_000) is None


def test_non_truc_member_names_a_parent_of_pool_or_package() -> None:
    child = simple_tx([output_of(PARENT)], version=2)
    text = f"non-version=3 tx {named(child)} cannot spend from version=3 tx {named(PARENT)}"
    assert Pool(PARENT).package(child, [child]) == text
    assert Pool().package(child, [PARENT, child]) == text
    assert Pool(OLD).package(simple_tx([output_of(OLD)]), [PARENT]) is None


def test_sizes() -> None:
    assert Pool().single(PARENT, 10_000) is None
    assert Pool().single(PARENT, 10_001) == TrucFault(
        f"version=3 tx {named(PARENT)} is too big: 10001 > 10000 virtual bytes"
    )
    text = f"version=3 child tx {named(CHILD)} is too big: 1001 > 1000 virtual bytes"
    assert Pool(PARENT).single(CHILD, 1000) is None
    assert Pool(PARENT).single(CHILD, 1001) == TrucFault(text)
    assert Pool().package(CHILD, [PARENT, CHILD], 1001) == text
    assert Pool().package(PARENT, [PARENT, CHILD], 10_001) is not None


def test_one_parent_only() -> None:
    second = simple_tx([coin_of(3)], version=3)
    child = simple_tx([output_of(PARENT), output_of(second)], version=3)
    text = f"tx {named(child)} would have too many ancestors"
    assert Pool(PARENT, second).single(child) == TrucFault(text)
    assert Pool(PARENT).package(child, [second, child]) == text
    assert Pool().package(child, [PARENT, second, child]) == text


def test_no_grandparent() -> None:
    grandchild = simple_tx([output_of(CHILD)], version=3)
    text = f"tx {named(grandchild)} would have too many ancestors"
    assert Pool(PARENT, CHILD).single(grandchild) == TrucFault(text)
    assert Pool(PARENT, CHILD).package(grandchild, [grandchild]) == text
    # The child has a parent, so the member that spends the child is the one too many.
    assert Pool(PARENT).package(CHILD, [CHILD, grandchild]) == text
    assert Pool().package(CHILD, [PARENT, CHILD, grandchild]) == text


def test_a_sibling_can_be_evicted() -> None:
    second = simple_tx([output_of(PARENT, 1)], version=3)
    text = f"tx {named(PARENT)} would exceed descendant count limit"
    assert Pool(PARENT, CHILD).single(second) == TrucFault(text, CHILD)
    assert Pool(PARENT, CHILD).single(second, conflicts=(CHILD.txid,)) is None
    assert Pool(PARENT, CHILD).package(second, [second]) == text
    assert Pool().package(second, [PARENT, CHILD, second]) == text


def test_several_siblings_or_a_nephew_prevent_eviction() -> None:
    second, third = (simple_tx([output_of(PARENT, index)], version=3) for index in (1, 2))
    nephew = simple_tx([output_of(CHILD)], version=3)
    foreign = simple_tx([output_of(PARENT), output_of(OLD)], version=3)
    text = f"tx {named(PARENT)} would exceed descendant count limit"
    assert Pool(PARENT, CHILD, second).single(third) == TrucFault(text)
    assert Pool(PARENT, CHILD, nephew).single(third) == TrucFault(text)
    assert Pool(PARENT, OLD, foreign).single(third) == TrucFault(text)
    assert Pool(PARENT, CHILD, second).single(third, conflicts=(second.txid,)) is None
