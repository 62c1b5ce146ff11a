"""Proofs that transactions are in a block (BIP37)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarion.node.errors import DecodeError
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.merkle import merkle_root
from clarion.node.primitives.partial_merkle_tree import PartialMerkleTree, merkle_levels, partial_merkle_tree


def txids_of(count: int) -> list[Txid]:
    return [Txid(sha256d(number.to_bytes(4, "little"))) for number in range(count)]


@given(st.integers(1, 70), st.data())
def test_a_proof_gives_root_and_wanted_transactions_back(count: int, data: st.DataObject) -> None:
    txids = txids_of(count)
    wanted = {txids[at] for at in data.draw(st.sets(st.integers(0, count - 1)))}
    raw = partial_merkle_tree(merkle_levels(txids), wanted).serialize()
    root, found = PartialMerkleTree.parse(raw).extract()
    assert root == merkle_root(txids)[0]
    assert found == [txid for txid in txids if txid in wanted]


def test_encoding_of_two_transactions() -> None:
    # From the reference: the second of two transactions, so a set root, a bare left leaf and a set right one.
    left = bytes.fromhex("0b1b9378e63e01aa2299fedeb63d4fccacb2867ded23da067d6b963e19b46a25")
    right = bytes.fromhex("dbf058572c2f390846f3840ad995bd1cd52d4fd47a199b5333dd959a59d6a72d")
    raw = partial_merkle_tree(merkle_levels([Txid(left), Txid(right)]), {Txid(right)}).serialize()
    assert raw.hex() == f"0200000002{left.hex()}{right.hex()}0105"


def test_equal_halves_prove_nothing() -> None:
    # CVE-2012-2459: three transactions and four of which the last is repeated have the same root.
    leaf = Txid(sha256d(b"leaf"))
    forged = PartialMerkleTree(2, [leaf, leaf], [True, True, True])
    with pytest.raises(DecodeError, match="inconsistent"):
        forged.extract()


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (PartialMerkleTree(0, [], []), "0 transactions"),
        (PartialMerkleTree(16_667, [bytes(32)], [False]), "16667 transactions"),
        (PartialMerkleTree(1, [bytes(32), bytes(32)], [True, True]), "do not fit"),
        (PartialMerkleTree(2, [bytes(32), bytes(31) + b"1"], [True, False]), "do not fit|inconsistent"),
        (PartialMerkleTree(1, [bytes(32)], [True] * 9), "more than it needs"),
        (PartialMerkleTree(2, [bytes(32)], [True, True]), "inconsistent"),
    ],
    ids=["empty", "too-many", "more-hashes-than-leaves", "too-few-bits", "bits-left-over", "too-few-hashes"],
)
def test_malformed_trees_are_refused(tree: PartialMerkleTree, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        tree.extract()


@pytest.mark.parametrize("length", [0, 3, 4, 5, 40], ids=str)
def test_cut_off_bytes_are_refused(length: int) -> None:
    raw = partial_merkle_tree(merkle_levels(txids_of(5)), {txids_of(5)[2]}).serialize()
    with pytest.raises(DecodeError):
        PartialMerkleTree.parse(raw[:length])
