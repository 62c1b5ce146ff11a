"""Standardness of inputs and of witnesses."""

import pytest

from clarion.node.mempool.policy.inputs import check_sigops_bip54, validate_inputs_standardness
from clarion.node.mempool.policy.witness import is_witness_standard, spends_non_anchor_witness_program
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.ids import NULL_OUTPOINT
from clarion.node.primitives.script import p2sh_script, push_data, witness_script
from clarion.node.primitives.transaction import TxOut
from helpers.simple_txs import P2A, P2PKH, P2WPKH, coin_of, simple_tx

P2SH = p2sh_script(bytes(20))
P2WSH = witness_script(0, bytes(32))
P2TR = witness_script(1, bytes(32))
CHECKSIG = b"\xac"


def fault(script_pubkey: bytes, script_sig: bytes = b"") -> str | None:
    """Return the debug text of a transaction that spends a key's output and one with that script."""
    tx = simple_tx([coin_of(1), coin_of(2)], script_sig=script_sig)
    return validate_inputs_standardness(tx, [TxOut(1, P2WPKH), TxOut(1, script_pubkey)])


@pytest.mark.parametrize(
    ("script_pubkey", "script_sig", "text"),
    [
        (P2PKH, b"", None),
        (P2A, b"", None),
        (b"\x51", b"", "input 1 script unknown"),
        (witness_script(2, bytes(32)), b"", "input 1 witness program is undefined"),
        (witness_script(1, bytes(33)), b"", "input 1 witness program is undefined"),
        (P2SH, b"", "input 1 P2SH redeemscript missing"),
        (P2SH, b"\x50", "p2sh scriptsig malformed (input 1: Opcode missing or not understood)"),
        (P2SH, b"\x76", "p2sh scriptsig malformed (input 1: Operation not valid with the current stack size)"),
        (P2SH, push_data(CHECKSIG * 15), None),
        (P2SH, push_data(CHECKSIG * 16), "p2sh redeemscript sigops exceed limit (input 1: 16 > 15)"),
        # A multisig counts its keys where they are told right before it, else twenty.
        (P2SH, push_data(b"\x5f\xae"), None),
        (P2SH, push_data(b"\xae"), "p2sh redeemscript sigops exceed limit (input 1: 20 > 15)"),
    ],
)
def test_inputs(script_pubkey: bytes, script_sig: bytes, text: str | None) -> None:
    assert fault(script_pubkey, script_sig) == text


def test_a_coinbase_spends_nothing() -> None:
    assert validate_inputs_standardness(simple_tx([NULL_OUTPOINT]), []) is None


def test_bip54_counts_what_may_run() -> None:
    redeem = push_data(CHECKSIG * 15)
    inputs = 2500 // 15
    spent = [TxOut(1, P2SH)] * inputs
    tx = simple_tx([coin_of(number) for number in range(inputs + 1)], script_sig=redeem)
    assert check_sigops_bip54(tx, [*spent, TxOut(1, CHECKSIG * 10)])
    assert not check_sigops_bip54(tx, [*spent, TxOut(1, CHECKSIG * 11)])
    assert validate_inputs_standardness(tx, [*spent, TxOut(1, P2SH)]) == "non-witness sigops exceed bip54 limit"


def test_bip54_counts_script_sigs_too() -> None:
    spent = [TxOut(1, CHECKSIG)]
    assert check_sigops_bip54(simple_tx([coin_of(1)], script_sig=CHECKSIG * 2499), spent)
    assert not check_sigops_bip54(simple_tx([coin_of(1)], script_sig=CHECKSIG * 2500), spent)


@pytest.mark.parametrize(
    ("script_pubkey", "script_sig", "witness", "standard"),
    [
        pytest.param(P2PKH, b"", (), True, id="no-witness"),
        pytest.param(P2PKH, b"", (b"",), False, id="witness-without-program"),
        pytest.param(P2A, b"", (b"",), False, id="anchor-stuffed"),
        pytest.param(P2A, b"", (), True, id="anchor"),
        pytest.param(P2WPKH, b"", (bytes(5000),), True, id="p2wpkh-unlimited"),
        pytest.param(P2WSH, b"", (bytes(80),) * 100 + (bytes(3600),), True, id="p2wsh-at-limits"),
        pytest.param(P2WSH, b"", (bytes(80),) * 101 + (bytes(3600),), False, id="p2wsh-items"),
        pytest.param(P2WSH, b"", (bytes(81), bytes(3600)), False, id="p2wsh-item"),
        pytest.param(P2WSH, b"", (bytes(80), bytes(3601)), False, id="p2wsh-script"),
        pytest.param(P2TR, b"", (bytes(500),), True, id="key-path"),
        pytest.param(P2TR, b"", (bytes(64), b"\x50"), False, id="annex"),
        pytest.param(P2TR, b"", (b"\x50",), True, id="annex-alone-is-a-signature"),
        pytest.param(P2TR, b"", (bytes(80), bytes(9000), b"\xc0" + bytes(32)), True, id="tapscript-at-limit"),
        pytest.param(P2TR, b"", (bytes(81), b"", b"\xc1" + bytes(32)), False, id="tapscript-item"),
        pytest.param(P2TR, b"", (bytes(81), b"", b"\xc2" + bytes(32)), True, id="other-leaf-version"),
        pytest.param(P2TR, b"", (b"", b""), False, id="empty-control-block"),
        pytest.param(P2SH, push_data(P2TR), (bytes(81), b"", b"\xc0"), True, id="nested-taproot"),
        pytest.param(P2SH, push_data(P2WSH), (bytes(81), b""), False, id="nested-p2wsh"),
        pytest.param(P2SH, push_data(CHECKSIG), (b"",), False, id="nested-no-program"),
        pytest.param(P2SH, b"", (b"",), False, id="nested-nothing"),
        pytest.param(P2SH, b"\x50", (b"",), False, id="nested-malformed"),
    ],
)
def test_witnesses(script_pubkey: bytes, script_sig: bytes, witness: tuple[bytes, ...], standard: bool) -> None:
    tx = simple_tx([coin_of(1)], script_sig=script_sig, witness=witness)
    assert is_witness_standard(tx, [TxOut(1, script_pubkey)]) is standard


def test_a_coinbase_may_have_any_witness() -> None:
    assert is_witness_standard(simple_tx([NULL_OUTPOINT], witness=(bytes(9000),)), [])


@pytest.mark.parametrize(
    ("script_pubkey", "script_sig", "spends"),
    [
        (P2PKH, b"", False),
        (P2A, b"", False),
        (P2WPKH, b"", True),
        (witness_script(16, bytes(40)), b"", True),
        (P2SH, push_data(P2WPKH), True),
        (P2SH, push_data(P2A), True),
        (P2SH, push_data(hash160(b"")), False),
        (P2SH, b"", False),
        (P2SH, b"\x50", False),
    ],
)
def test_spends_of_witness_programs(script_pubkey: bytes, script_sig: bytes, spends: bool) -> None:
    tx = simple_tx([coin_of(1), coin_of(2)], script_sig=script_sig)
    assert spends_non_anchor_witness_program(tx, [TxOut(1, P2PKH), TxOut(1, script_pubkey)]) is spends
    assert not spends_non_anchor_witness_program(simple_tx([NULL_OUTPOINT]), [])
