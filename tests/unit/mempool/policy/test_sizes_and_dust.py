"""Virtual sizes with signature operations, and dust thresholds by kind of output."""

import pytest

from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.policy.dust import dust_outputs, dust_threshold, is_dust
from clarion.node.mempool.policy.size import sigop_adjusted_weight, virtual_size
from clarion.node.primitives.script import p2pk_script, p2sh_script, witness_script
from clarion.node.primitives.transaction import TxOut
from helpers.simple_txs import P2A, P2PKH, coin_of, simple_tx

RATE = FeeRate(3000)


@pytest.mark.parametrize(
    ("script", "threshold"),
    [
        (p2pk_script(bytes(65)), 672),
        (p2pk_script(bytes(33)), 576),
        (P2PKH, 546),
        (p2sh_script(bytes(20)), 540),
        (witness_script(0, bytes(20)), 294),
        (witness_script(0, bytes(32)), 330),
        (witness_script(1, bytes(32)), 330),
        (P2A, 240),
        (witness_script(16, bytes(2)), 240),
        (witness_script(16, bytes(40)), 354),
        (b"\x6a\x01\x00", 0),
    ],
)
def test_dust_threshold_by_kind_of_output(script: bytes, threshold: int) -> None:
    assert dust_threshold(TxOut(0, script), RATE) == threshold


def test_an_output_worth_the_threshold_is_no_dust() -> None:
    assert is_dust(TxOut(545, P2PKH), RATE)
    assert not is_dust(TxOut(546, P2PKH), RATE)
    assert not is_dust(TxOut(0, P2PKH), FeeRate(0))


def test_dust_threshold_is_rounded_up() -> None:
    # 34 bytes and 148 to spend them: 182 * 1.337 = 243.3 satoshis.
    assert dust_threshold(TxOut(0, P2PKH), FeeRate(1337)) == 244


def test_dust_outputs_are_told_by_index() -> None:
    tx = simple_tx([coin_of(1)], [TxOut(545, P2PKH), TxOut(546, P2PKH), TxOut(0, b"\x6a"), TxOut(0, P2A)])
    assert dust_outputs(tx, RATE) == [0, 3]


def test_signature_operations_can_outweigh_bytes() -> None:
    assert sigop_adjusted_weight(400, 19, 20) == 400
    assert sigop_adjusted_weight(400, 21, 20) == 420
    assert virtual_size(400, 22, 20) == 110
    assert virtual_size(401) == 101
