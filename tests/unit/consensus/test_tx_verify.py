"""Lock times, sequence locks, values and maturity."""

import pytest

from clarion.node.consensus.tx_verify import (
    NO_LOCK,
    calculate_sequence_locks,
    check_tx_inputs,
    evaluate_sequence_locks,
    is_final_tx,
)
from clarion.node.errors import TxInvalid
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.positions import chain

COIN = 100_000_000
MAX_MONEY = 21_000_000 * COIN
MATURITY = 100
FINAL = 0xFFFFFFFF
DISABLE, TYPE_FLAG = 1 << 31, 1 << 22


def transaction(*sequences: int, version: int = 2, lock_time: int = 0, value: int = 1) -> Transaction:
    inputs = [TxIn(make_outpoint(bytes(32), i), sequence=sequence) for i, sequence in enumerate(sequences)]
    return Transaction(version, inputs, [TxOut(value, b"")], lock_time)


@pytest.mark.parametrize(
    ("lock_time", "sequence", "final"),
    [
        pytest.param(0, 0, True, id="none"),
        pytest.param(99, 0, True, id="height-below"),
        pytest.param(100, 0, False, id="height-equal"),
        pytest.param(100, FINAL, True, id="final-sequence"),
        pytest.param(499_999_999, 0, False, id="largest-height"),
        pytest.param(500_000_000, 0, True, id="smallest-time"),
        pytest.param(1_599_999_999, 0, True, id="time-below"),
        pytest.param(1_600_000_000, 0, False, id="time-equal"),
        pytest.param(0xFFFFFFFF, FINAL - 1, False, id="far-future"),
    ],
)
def test_lock_time(lock_time: int, sequence: int, final: bool) -> None:
    assert is_final_tx(transaction(sequence, lock_time=lock_time), 100, 1_600_000_000) is final


def test_one_input_without_final_sequence_keeps_the_lock() -> None:
    assert not is_final_tx(transaction(FINAL, 0, lock_time=100), 100, 0)
    assert is_final_tx(transaction(FINAL, FINAL, lock_time=100), 100, 0)


@pytest.mark.parametrize(
    ("version", "sequence", "locks"),
    [
        pytest.param(1, 10, NO_LOCK, id="version-1"),
        pytest.param(0xFFFFFFFF, 10, (14, -1), id="version-is-unsigned"),
        pytest.param(2, DISABLE | 10, NO_LOCK, id="disabled"),
        pytest.param(2, 0, (4, -1), id="zero-blocks"),
        pytest.param(2, 10, (14, -1), id="ten-blocks"),
        pytest.param(2, 0xFF80FFFF & ~DISABLE & ~TYPE_FLAG, (5 + 65535 - 1, -1), id="other-bits-are-ignored"),
    ],
)
def test_height_locks(version: int, sequence: int, locks: tuple[int, int]) -> None:
    prev = chain(20)
    assert calculate_sequence_locks(transaction(sequence, version=version), [5], prev) == locks


def test_time_lock_counts_from_the_block_before_the_coin() -> None:
    prev = chain(20, time=1_000)
    before = prev.ancestor(4)
    assert before is not None
    locks = calculate_sequence_locks(transaction(TYPE_FLAG | 3), [5], prev)
    assert locks == (-1, before.median_time_past() + 3 * 512 - 1)
    # A coin of genesis has no block before it.
    assert calculate_sequence_locks(transaction(TYPE_FLAG), [0], prev) == (-1, 1_000 - 1)


def test_the_latest_lock_wins() -> None:
    prev = chain(20)
    assert calculate_sequence_locks(transaction(1, 7, DISABLE | 99), [5, 3, 1], prev) == (9, -1)


def test_coin_of_the_same_block_counts_from_it() -> None:
    prev = chain(20)
    assert evaluate_sequence_locks(calculate_sequence_locks(transaction(0), [20], prev), prev)
    assert not evaluate_sequence_locks(calculate_sequence_locks(transaction(1), [20], prev), prev)


def test_locks_are_not_enforced_before_csv() -> None:
    assert calculate_sequence_locks(transaction(10), [5], chain(20), enforce=False) == NO_LOCK


def test_locks_are_the_last_invalid_height_and_time() -> None:
    prev = chain(20)
    median = prev.median_time_past()
    assert evaluate_sequence_locks((19, -1), prev)
    assert not evaluate_sequence_locks((20, -1), prev)
    assert evaluate_sequence_locks((-1, median - 1), prev)
    assert not evaluate_sequence_locks((-1, median), prev)


def coin(value: int, height: int = 1, coinbase: bool = False) -> Coin:
    return Coin(value, b"\x51", height * 2 + coinbase)


def test_fee_is_what_remains() -> None:
    assert check_tx_inputs(transaction(0, 0, value=7), [coin(5), coin(5)], 10) == 3
    assert check_tx_inputs(transaction(0, value=5), [coin(5)], 10) == 0


def test_coinbase_matures_after_100_blocks() -> None:
    assert check_tx_inputs(transaction(0), [coin(1, 7, True)], 7 + MATURITY) == 0
    with pytest.raises(TxInvalid) as caught:
        check_tx_inputs(transaction(0), [coin(1, 7, True)], 7 + MATURITY - 1)
    assert str(caught.value) == "bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth 99"


@pytest.mark.parametrize(
    ("spent", "value", "message"),
    [
        pytest.param(
            [coin(1, 9, True), None],
            1,
            "bad-txns-inputs-missingorspent, CheckTxInputs: inputs missing/spent",
            id="missing-comes-first",
        ),
        pytest.param([coin(-1)], 1, "bad-txns-inputvalues-outofrange", id="negative"),
        pytest.param([coin(MAX_MONEY + 1)], 1, "bad-txns-inputvalues-outofrange", id="too-large"),
        pytest.param([coin(MAX_MONEY), coin(1)], 1, "bad-txns-inputvalues-outofrange", id="sum-too-large"),
        pytest.param(
            [coin(3 * COIN // 2)],
            3 * COIN // 2 + 1,
            "bad-txns-in-belowout, value in (1.50) < value out (1.50000001)",
            id="below-out",
        ),
    ],
)
def test_inputs_refused(spent: list[Coin | None], value: int, message: str) -> None:
    with pytest.raises(TxInvalid) as caught:
        check_tx_inputs(transaction(*[0] * len(spent), value=value), spent, 10)
    assert str(caught.value) == message
