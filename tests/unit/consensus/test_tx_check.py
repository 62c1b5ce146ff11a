"""Context-free transaction rules, each with what it accepts and what it refuses."""

import pytest

from clarion.node.consensus.tx_check import check_transaction
from clarion.node.errors import TxInvalid
from clarion.node.primitives.ids import NULL_OUTPOINT, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

MAX_MONEY = 21_000_000 * 100_000_000
A = TxIn(make_outpoint(b"\xaa" * 32, 0))
B = TxIn(make_outpoint(b"\xaa" * 32, 1))
NULL = TxIn(NULL_OUTPOINT, b"\x51\x51")
OUT = TxOut(1, b"\x51")


def transaction(inputs: list[TxIn], outputs: list[TxOut]) -> Transaction:
    return Transaction(1, inputs, outputs)


@pytest.mark.parametrize(
    ("inputs", "outputs", "reason"),
    [
        pytest.param([], [], "bad-txns-vin-empty", id="no-inputs"),
        pytest.param([A], [], "bad-txns-vout-empty", id="no-outputs"),
        pytest.param([A], [TxOut(-1, b"")], "bad-txns-vout-negative", id="negative"),
        pytest.param([A], [TxOut(MAX_MONEY + 1, b"")], "bad-txns-vout-toolarge", id="too-large"),
        pytest.param([A], [TxOut(MAX_MONEY, b""), OUT], "bad-txns-txouttotal-toolarge", id="total"),
        pytest.param([A, B, A], [OUT], "bad-txns-inputs-duplicate", id="duplicate"),
        pytest.param([NULL, NULL], [OUT], "bad-txns-inputs-duplicate", id="duplicate-null"),
        pytest.param([A, NULL], [OUT], "bad-txns-prevout-null", id="null"),
        pytest.param([TxIn(NULL_OUTPOINT, b"\x51")], [OUT], "bad-cb-length", id="short-coinbase"),
        pytest.param([TxIn(NULL_OUTPOINT, b"\x51" * 101)], [OUT], "bad-cb-length", id="long-coinbase"),
        pytest.param([A, A], [TxOut(-1, b"")], "bad-txns-vout-negative", id="outputs-come-before-inputs"),
    ],
)
def test_refused(inputs: list[TxIn], outputs: list[TxOut], reason: str) -> None:
    with pytest.raises(TxInvalid) as caught:
        check_transaction(transaction(inputs, outputs))
    assert (caught.value.reject_reason, caught.value.debug) == (reason, "")


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        pytest.param([A], [OUT], id="one-to-one"),
        pytest.param([A, B], [TxOut(MAX_MONEY, b""), TxOut(0, b"")], id="all-the-money"),
        pytest.param([NULL], [OUT], id="coinbase-of-2-bytes"),
        pytest.param([TxIn(NULL_OUTPOINT, b"\x51" * 100)], [OUT], id="coinbase-of-100-bytes"),
        pytest.param([TxIn(make_outpoint(bytes(32), 0))], [OUT], id="null-hash-with-an-index"),
    ],
)
def test_accepted(inputs: list[TxIn], outputs: list[TxOut]) -> None:
    check_transaction(transaction(inputs, outputs))


def test_size_without_witness_is_limited() -> None:
    # 4 version, 1 + 41 input, 1 + 8 + 5 output, 4 lock time: the rest is the output's script.
    largest = 1_000_000 - 64
    check_transaction(transaction([A], [TxOut(1, bytes(largest))]))
    with pytest.raises(TxInvalid, match="bad-txns-oversize"):
        check_transaction(transaction([A], [TxOut(1, bytes(largest + 1))]))


def test_witness_does_not_count_for_the_size() -> None:
    check_transaction(transaction([TxIn(A.prevout, witness=(bytes(1_000_000),))], [OUT]))
