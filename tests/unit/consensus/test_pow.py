"""Targets, work and difficulty. The cases are those of the reference's unit tests."""

import pytest

from clarion.node.consensus.pow import (
    block_proof,
    block_proof_equivalent_time,
    check_proof_of_work,
    decode_compact,
    derive_target,
    difficulty,
    encode_compact,
)
from clarion.node.params.chain_params import select_params

MAIN = select_params("main")
POW_LIMIT = (1 << 224) - 1


@pytest.mark.parametrize(
    ("bits", "target", "negative", "overflow", "encoded"),
    [
        (0x00000000, 0, False, False, 0),
        (0x00123456, 0, False, False, 0),
        (0x01003456, 0, False, False, 0),
        (0x04000000, 0, False, False, 0),
        (0x01123456, 0x12, False, False, 0x01120000),
        (0x01FEDCBA, 0x7E, True, False, 0x017E0000),
        (0x02123456, 0x1234, False, False, 0x02123400),
        (0x03123456, 0x123456, False, False, 0x03123456),
        (0x04123456, 0x12345600, False, False, 0x04123456),
        (0x04923456, 0x12345600, True, False, 0x04123456),
        (0x05009234, 0x92340000, False, False, 0x05009234),
        (0x20123456, 0x123456 << 232, False, False, 0x20123456),
        (0xFF123456, 0, False, True, 0),
        (0x01800000, 0, False, False, 0),
    ],
)
def test_compact_form(bits: int, target: int, negative: bool, overflow: bool, encoded: int) -> None:
    assert decode_compact(bits) == (target, negative, overflow)
    assert encode_compact(target) == encoded


def test_mantissa_with_the_sign_bit_moves_down_a_byte() -> None:
    assert encode_compact(0x80) == 0x02008000
    assert encode_compact((1 << 255) - 1) == 0x207FFFFF
    assert encode_compact(POW_LIMIT) == 0x1D00FFFF


@pytest.mark.parametrize(
    "bits",
    [0x1D00FFFF | 0x00800000, 0xFF7FFFFF, encode_compact(POW_LIMIT * 2), 0],
    ids=["negative", "overflow", "too-easy", "zero"],
)
def test_impossible_targets_have_no_proof(bits: int) -> None:
    assert derive_target(bits, POW_LIMIT) is None
    assert not check_proof_of_work((1).to_bytes(32, "little"), bits, MAIN)


def test_hash_up_to_the_target_is_proof() -> None:
    target = 0xFFFF << 208
    assert check_proof_of_work(target.to_bytes(32, "little"), 0x1D00FFFF, MAIN)
    assert not check_proof_of_work((target + 1).to_bytes(32, "little"), 0x1D00FFFF, MAIN)


def test_work_is_the_expected_number_of_hashes() -> None:
    assert block_proof(0x1D00FFFF) == 0x100010001
    assert block_proof(0x207FFFFF) == 2
    assert block_proof(0) == 0
    assert block_proof(0x1D80FFFF) == 0


def test_equivalent_time_of_work() -> None:
    work = block_proof(0x1D00FFFF)
    assert block_proof_equivalent_time(10 * work, 4 * work, 0x1D00FFFF, MAIN) == 6 * 600
    assert block_proof_equivalent_time(4 * work, 10 * work, 0x1D00FFFF, MAIN) == -6 * 600
    assert block_proof_equivalent_time(1 << 250, 0, 0x207FFFFF, MAIN) == 2**63 - 1


@pytest.mark.parametrize(
    ("bits", "value"),
    [
        (0x1F111111, 0.000001),
        (0x1EF88F6F, 0.000016),
        (0x1DF88F6F, 0.004023),
        (0x1CF88F6F, 1.029916),
        (0x12345678, 5913134931067755359633408.0),
        (0x1D00FFFF, 1.0),
    ],
)
def test_difficulty(bits: int, value: float) -> None:
    assert difficulty(bits) == pytest.approx(value, abs=0.00001)


def test_difficulty_of_regtest_is_exact() -> None:
    assert f"{difficulty(0x207FFFFF):.16g}" == "4.656542373906925e-10"
    assert difficulty(0x20000000) == float("inf")
