"""How the transaction of an RPC client is read when both encodings are possible."""

import pytest

from clarion.node.errors import DecodeError
from clarion.node.primitives.transaction import Transaction, TxOut, decode_hex_transaction

SCRIPT = b"\x51"


def unfunded(outputs: int) -> Transaction:
    """A transaction without inputs, as funding calls take it: its bytes look like BIP144's marker."""
    raw = b"\2\0\0\0\0" + bytes((outputs,))
    raw += b"".join(TxOut(1000 + i, SCRIPT).serialize() for i in range(outputs)) + bytes(4)
    return Transaction.parse(raw, allow_witness=False)


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_legacy_reading_where_the_extended_one_fails(outputs: int) -> None:
    tx = decode_hex_transaction(unfunded(outputs).raw)
    assert (len(tx.inputs), len(tx.outputs)) == (0, outputs)


def test_an_encoding_can_be_excluded() -> None:
    raw = unfunded(1).raw
    with pytest.raises(DecodeError, match="TX decode failed"):
        decode_hex_transaction(raw, try_no_witness=False)
    assert decode_hex_transaction(raw, try_witness=False).raw == raw


def ambiguous(script_pubkey: bytes, sequence: bytes = bytes(4)) -> bytes:
    """Bytes that both readings consume: extended, one input with a witness; legacy, one output with a long script.

    In the legacy script the zero bytes are OP_0, the output's script is a push, and the sequence number is code.
    """
    body = bytearray(b"\1" + bytes(36) + b"\0" + sequence)
    body += b"\1" + bytes(8) + bytes((len(script_pubkey),)) + script_pubkey
    body += b"\1\1a"
    body[8] = len(body) - 9  # of the prevout's txid: the length of the legacy reading's script
    return b"\2\0\0\0" + b"\0\1" + bytes(body) + bytes(4)


def test_both_sane_gives_the_extended_reading() -> None:
    raw = ambiguous(b"\x51")
    assert len(Transaction.parse(raw, allow_witness=False).outputs) == 1
    assert decode_hex_transaction(raw).has_witness


def test_only_legacy_sane_gives_the_legacy_reading() -> None:
    tx = decode_hex_transaction(ambiguous(b"\xff" * 4))
    assert not tx.has_witness
    assert (len(tx.inputs), len(tx.outputs)) == (0, 1)


def test_neither_sane_gives_the_extended_reading() -> None:
    assert decode_hex_transaction(ambiguous(b"\xff" * 4, b"\xfe\xff\xff\xff")).has_witness


def test_trailing_bytes_and_rubbish_are_refused() -> None:
    for data in (b"", b"\0", unfunded(1).raw + b"\0"):
        with pytest.raises(DecodeError, match="TX decode failed"):
            decode_hex_transaction(data)
