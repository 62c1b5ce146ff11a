"""Lock times and identity of PSBTs of version 2 (BIP370), and trees of taproot leaves."""

import pytest

from clarion.node.primitives.ids import Txid
from clarion.node.primitives.taproot_tree import TapLeaf, build_tap_tree, tapbranch_hash, tapleaf_hash
from clarion.node.script.psbt.combination import combine_psbts
from clarion.node.script.psbt.psbt import Psbt, parse_psbt
from clarion.node.script.psbt.psbt_input import PsbtInput

TIME = 500_000_000


def psbt_with(*locks: tuple[int | None, int | None], fallback: int | None = None) -> Psbt:
    inputs = [
        PsbtInput(2, Txid(bytes(32)), at, time_lock=time, height_lock=height) for at, (time, height) in enumerate(locks)
    ]
    return Psbt(2, 2, fallback, inputs=inputs)


@pytest.mark.parametrize(
    ("locks", "expected"),
    [
        ([(None, None)], 7),
        ([(None, 10), (None, None)], 10),
        ([(None, 10), (TIME, 20)], 20),
        ([(TIME + 1, 10), (TIME, 20)], 20),
        ([(TIME + 1, None), (TIME, 20)], TIME + 1),
        ([(TIME, None), (None, 20)], None),
    ],
    ids=["fallback", "a height", "a height of both", "heights first", "a time", "both at once"],
)
def test_lock_time(locks: list[tuple[int | None, int | None]], expected: int | None) -> None:
    psbt = psbt_with(*locks, fallback=7)
    assert psbt.lock_time() == expected
    assert (psbt.unsigned_tx() is None) == (expected is None)


def test_sequence_numbers_do_not_matter_for_who_fits_together() -> None:
    one, other = psbt_with((None, None)), psbt_with((None, None))
    other.inputs[0].sequence = 5
    assert one.unique_id() == other.unique_id()
    combined = combine_psbts([one, other])
    assert combined is not None
    assert combined.inputs[0].sequence == 5
    assert one.inputs[0].sequence is None


@pytest.mark.parametrize(("mine", "theirs", "both"), [(0b011, 0b111, 0b111), (0b011, 0b101, 0b101), (None, 0b011, 0)])
def test_flags_of_both(mine: int | None, theirs: int, both: int) -> None:
    one, other = psbt_with(), psbt_with()
    one.modifiable, other.modifiable = mine, theirs
    combined = combine_psbts([one, other])
    assert combined is not None
    assert combined.modifiable == both
    assert parse_psbt(combined.serialize()).modifiable == both


@pytest.mark.parametrize(
    ("depths", "whole"),
    [
        ([0], True),
        ([1, 1], True),
        ([1, 2, 2], True),
        ([2, 2, 1], True),
        ([0, 0], False),
        ([1], False),
        ([2, 1], False),
        ([1, 1, 1], False),
    ],
)
def test_depths_make_a_tree(depths: list[int], whole: bool) -> None:
    tree = build_tap_tree([TapLeaf(depth, 0xC0, bytes((at,))) for at, depth in enumerate(depths)])
    assert (tree is not None) == whole


def test_root_of_three_leaves() -> None:
    hashes = [tapleaf_hash(0xC0, bytes((at,))) for at in range(3)]
    tree = build_tap_tree([TapLeaf(depth, 0xC0, bytes((at,))) for at, depth in enumerate((1, 2, 2))])
    assert tree is not None
    assert tree.merkle_root == tapbranch_hash(hashes[0], tapbranch_hash(hashes[1], hashes[2]))
    assert {leaf.script: path for leaf, path in tree.leaves}[b"\1"] == hashes[2] + hashes[0]
