"""Packages by themselves: their reasons, topology and hash."""

from hashlib import sha256

from clarion.node.mempool.policy.packages import (
    is_child_with_parents,
    is_child_with_parents_tree,
    is_consistent_package,
    is_topo_sorted_package,
    is_well_formed_package,
    package_hash,
)
from clarion.node.primitives.transaction import Transaction, TxOut
from helpers.simple_txs import P2WPKH, coin_of, output_of, simple_tx

PARENT = simple_tx([coin_of(1)], [10_000, 20_000])
OTHER = simple_tx([coin_of(2)])
CHILD = simple_tx([output_of(PARENT), output_of(OTHER)])


def test_count_limit() -> None:
    txs = [simple_tx([coin_of(number)]) for number in range(26)]
    assert is_well_formed_package(txs[:25]) is None
    assert is_well_formed_package(txs) == "package-too-many-transactions"


def test_weight_limit_leaves_single_transactions_alone() -> None:
    heavy = [simple_tx([coin_of(number)], [TxOut(0, bytes(50_600))]) for number in (1, 2)]
    assert sum(tx.weight for tx in heavy) > 404_000
    assert is_well_formed_package(heavy) == "package-too-large"
    assert is_well_formed_package([simple_tx([coin_of(1)], [TxOut(0, bytes(110_000))])]) is None


def test_same_txid_is_a_duplicate_whatever_the_witness() -> None:
    twin = simple_tx([coin_of(1)], [10_000, 20_000], witness=(b"\x01",))
    assert twin.txid == PARENT.txid
    assert is_well_formed_package([PARENT, twin]) == "package-contains-duplicates"


def test_parents_come_first() -> None:
    assert is_well_formed_package([PARENT, OTHER, CHILD]) is None
    assert is_well_formed_package([PARENT, CHILD, OTHER]) == "package-not-sorted"
    assert not is_topo_sorted_package([CHILD, PARENT])


def test_members_may_not_conflict() -> None:
    assert is_well_formed_package([PARENT, simple_tx([coin_of(1)])]) == "conflict-in-package"
    # The same output twice in one transaction is for consensus to refuse.
    assert is_consistent_package([simple_tx([coin_of(1), coin_of(1)])])
    assert not is_consistent_package([Transaction(2, [], [TxOut(1, P2WPKH)])])


def test_child_with_parents() -> None:
    assert is_child_with_parents([PARENT, OTHER, CHILD])
    assert is_child_with_parents([PARENT, CHILD])
    assert not is_child_with_parents([CHILD])
    assert not is_child_with_parents([PARENT, OTHER])
    assert not is_child_with_parents([PARENT, simple_tx([coin_of(3)]), CHILD])


def test_parents_of_a_tree_do_not_spend_each_other() -> None:
    second = simple_tx([output_of(PARENT, 1)])
    child = simple_tx([output_of(PARENT), output_of(second)])
    assert is_child_with_parents([PARENT, second, child])
    assert not is_child_with_parents_tree([PARENT, second, child])
    assert is_child_with_parents_tree([PARENT, OTHER, CHILD])
    assert not is_child_with_parents_tree([CHILD])


def test_hash_takes_wtxids_as_numbers() -> None:
    low, high = sorted([PARENT, OTHER], key=lambda tx: int.from_bytes(tx.wtxid, "little"))
    assert package_hash([high, low]) == package_hash([low, high]) == sha256(low.wtxid + high.wtxid).digest()
