"""Counting signature operations in legacy, P2SH and witness scripts."""

from hashlib import sha256

import pytest

from clarion.node.consensus.sigops import (
    legacy_sigops,
    p2sh_sigops,
    redeem_script,
    script_sigops,
    transaction_sigop_cost,
    witness_sigops,
)
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import NULL_OUTPOINT, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.flags import SCRIPT_VERIFY_NONE, SCRIPT_VERIFY_P2SH, SCRIPT_VERIFY_WITNESS

CHECKSIG, CHECKSIGVERIFY, CHECKMULTISIG, CHECKMULTISIGVERIFY = b"\xac", b"\xad", b"\xae", b"\xaf"
KEY = b"\x21" + bytes(33)
TWO_OF_TWO = b"\x52" + KEY + KEY + b"\x52" + CHECKMULTISIG
P2SH = b"\xa9\x14" + bytes(20) + b"\x87"
P2PKH = b"\x76\xa9\x14" + bytes(20) + b"\x88\xac"
P2WPKH = b"\x00\x14" + bytes(20)
P2TR = b"\x51\x20" + bytes(32)
P2WSH = b"\x00\x20" + sha256(TWO_OF_TWO).digest()
BOTH = SCRIPT_VERIFY_P2SH | SCRIPT_VERIFY_WITNESS


def spend(script_sig: bytes, witness: tuple[bytes, ...] = (), output: bytes = b"") -> Transaction:
    return Transaction(1, [TxIn(make_outpoint(bytes(32), 0), script_sig, 0, witness)], [TxOut(1, output)])


@pytest.mark.parametrize(
    ("script", "accurate", "count"),
    [
        pytest.param(b"", True, 0, id="empty"),
        pytest.param(CHECKSIG + CHECKSIGVERIFY, False, 2, id="checksigs"),
        pytest.param(TWO_OF_TWO, True, 2, id="multisig-accurate"),
        pytest.param(TWO_OF_TWO, False, 20, id="multisig-inaccurate"),
        pytest.param(TWO_OF_TWO + b"\x63\xac\x68", True, 3, id="branches-count"),
        pytest.param(b"\x00" + CHECKMULTISIGVERIFY, True, 20, id="multisig-of-zero"),
        pytest.param(b"\x60" + CHECKMULTISIG, True, 16, id="multisig-of-sixteen"),
        pytest.param(b"\x01\x11" + CHECKMULTISIG, True, 20, id="multisig-of-pushed-number"),
        pytest.param(b"\x52\x61" + CHECKMULTISIG, True, 20, id="multisig-after-nop"),
        pytest.param(b"\x02" + CHECKSIG + CHECKSIG, True, 0, id="pushed-opcodes"),
        pytest.param(b"\x6a" + CHECKSIG, True, 1, id="behind-return"),
        pytest.param(b"\xba", True, 0, id="checksigadd"),
    ],
)
def test_script_count(script: bytes, accurate: bool, count: int) -> None:
    assert script_sigops(script, accurate) == count


@pytest.mark.parametrize(
    "tail",
    [b"\x05\xac\xac", b"\x4c", b"\x4c\x05\xac", b"\x4d\x01", b"\x4d\xff\xff\xac", b"\x4e\x01\x00\xac", b"\x4b"],
    ids=bytes.hex,
)
def test_truncated_push_ends_the_count(tail: bytes) -> None:
    assert script_sigops(CHECKSIG + tail, False) == 1
    assert redeem_script(b"\x51" + tail) is None


@pytest.mark.parametrize("prefix", [b"\x4c\x01", b"\x4d\x01\x00", b"\x4e\x01\x00\x00\x00"], ids=bytes.hex)
def test_pushdata_hides_its_bytes(prefix: bytes) -> None:
    assert script_sigops(prefix + CHECKSIG + CHECKSIG, True) == 1
    assert redeem_script(prefix + CHECKSIG) == CHECKSIG


@pytest.mark.parametrize(
    ("script", "count"),
    [(P2PKH, 1), (P2SH, 0), (P2WPKH, 0), (P2WSH, 0), (P2TR, 0), (b"\x01\x14" + b"\xac" * 20, 20), (TWO_OF_TWO, 20)],
    ids=["p2pkh", "p2sh", "p2wpkh", "p2wsh", "p2tr", "no-program", "multisig"],
)
def test_output_templates_count_as_a_walk_does(script: bytes, count: int) -> None:
    assert legacy_sigops(spend(b"", output=script)) == count == script_sigops(script, False)


def test_script_sig_counts_too() -> None:
    assert legacy_sigops(spend(CHECKSIG + TWO_OF_TWO)) == 21


@pytest.mark.parametrize(
    ("script_sig", "redeem"),
    [
        (b"", b""),
        (b"\x51", b""),
        (b"\x00\x02\x51\x52", b"\x51\x52"),
        (b"\x02\x51\x52\x4f", b""),
        (b"\x02\x51\x52\x50", b""),
        (b"\x02\x51\x52\x61", None),
    ],
    ids=["empty", "number", "push", "ends-in-1negate", "ends-in-reserved", "nop"],
)
def test_redeem_script_is_the_last_push(script_sig: bytes, redeem: bytes | None) -> None:
    assert redeem_script(script_sig) == redeem


def test_p2sh_counts_accurately() -> None:
    assert p2sh_sigops(b"\x00" + bytes((len(TWO_OF_TWO),)) + TWO_OF_TWO) == 2
    assert p2sh_sigops(b"\x61" + bytes((len(TWO_OF_TWO),)) + TWO_OF_TWO) == 0


def test_witness_counts() -> None:
    nested = bytes((len(P2WSH),)) + P2WSH
    assert witness_sigops(P2WPKH, b"", (b"", b"")) == 1
    assert witness_sigops(P2WSH, b"", (b"", TWO_OF_TWO)) == 2
    assert witness_sigops(P2WSH, b"", ()) == 0
    assert witness_sigops(P2SH, nested, (TWO_OF_TWO,)) == 2
    assert witness_sigops(P2TR, b"", (CHECKSIG,)) == 0
    assert witness_sigops(P2PKH, nested, (TWO_OF_TWO,)) == 0


@pytest.mark.parametrize(
    ("script", "script_sig", "witness", "flags", "cost"),
    [
        pytest.param(TWO_OF_TWO, b"\x00\x00", (), BOTH, 0, id="spent-multisig-is-free"),
        pytest.param(P2SH, b"\x00" + bytes((len(TWO_OF_TWO),)) + TWO_OF_TWO, (), BOTH, 8, id="p2sh"),
        pytest.param(
            P2SH, b"\x00" + bytes((len(TWO_OF_TWO),)) + TWO_OF_TWO, (), SCRIPT_VERIFY_NONE, 0, id="p2sh-before-bip16"
        ),
        pytest.param(P2WPKH, b"", (b"", b""), BOTH, 1, id="p2wpkh"),
        pytest.param(P2WPKH, b"", (b"", b""), SCRIPT_VERIFY_P2SH, 0, id="p2wpkh-without-witness"),
        pytest.param(P2SH, b"\x16" + P2WPKH, (b"", b""), BOTH, 1, id="p2sh-p2wpkh"),
        pytest.param(P2SH, b"\x16" + P2WPKH, (b"", b""), SCRIPT_VERIFY_P2SH, 0, id="p2sh-p2wpkh-without-witness"),
        pytest.param(P2WSH, b"", (b"", TWO_OF_TWO), BOTH, 2, id="p2wsh"),
        pytest.param(P2SH, b"\x22" + P2WSH, (b"", TWO_OF_TWO), BOTH, 2, id="p2sh-p2wsh"),
        pytest.param(P2TR, b"", (bytes(64),), BOTH, 0, id="p2tr"),
        pytest.param(P2PKH, b"\x01\x00" + KEY, (), BOTH, 0, id="p2pkh"),
        pytest.param(b"\x00\x17" + bytes(23), b"", (CHECKSIG,), BOTH, 0, id="program-of-23-bytes"),
    ],
)
def test_cost_of_an_input(script: bytes, script_sig: bytes, witness: tuple[bytes, ...], flags: int, cost: int) -> None:
    tx = spend(script_sig, witness)
    assert transaction_sigop_cost(tx, [Coin(1, script, 2)], flags) == cost


def test_coinbase_counts_its_own_scripts_only() -> None:
    coinbase = Transaction(1, [TxIn(NULL_OUTPOINT, CHECKSIG * 2)], [TxOut(1, P2PKH)])
    assert transaction_sigop_cost(coinbase, [], BOTH) == 12
