"""The two encodings of transactions, and what the decoder refuses."""

import pytest

from clarion.node.errors import DecodeError
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import NULL_OUTPOINT, OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

PREVOUT = OutPoint(bytes(range(32)) + b"\1\0\0\0")
LEGACY = Transaction(2, [TxIn(PREVOUT, b"\x51", 5)], [TxOut(7, b"\x52")], 9)
SEGWIT = Transaction(2, [TxIn(PREVOUT, b"", 5, (b"a", b"", b"c" * 300))], [TxOut(7, b"\x52")], 9)

HEAD, TAIL = "02000000", "09000000"
INPUT = "01" + PREVOUT.hex() + "0151" + "05000000"
OUTPUT = "01" + "0700000000000000" + "0152"


def test_legacy_has_one_hash() -> None:
    assert LEGACY.raw.hex() == HEAD + INPUT + OUTPUT + TAIL
    assert LEGACY.txid == LEGACY.wtxid == sha256d(LEGACY.raw)
    assert not LEGACY.has_witness
    assert (LEGACY.weight, LEGACY.vsize) == (len(LEGACY.raw) * 4, len(LEGACY.raw))


def test_witness_is_outside_the_txid() -> None:
    base = SEGWIT.serialize_without_witness()
    assert SEGWIT.txid == sha256d(base)
    assert SEGWIT.wtxid == sha256d(SEGWIT.raw) != SEGWIT.txid
    assert SEGWIT.base_size == len(base)
    assert SEGWIT.weight == 3 * len(base) + len(SEGWIT.raw)


@pytest.mark.parametrize("tx", [LEGACY, SEGWIT], ids=["legacy", "segwit"])
def test_parse_gives_back_everything(tx: Transaction) -> None:
    parsed = Transaction.parse(tx.raw)
    for name in Transaction.__slots__:
        if name not in ("inputs", "outputs"):
            assert getattr(parsed, name) == getattr(tx, name), name
    assert [txin.witness for txin in parsed.inputs] == [txin.witness for txin in tx.inputs]
    assert [txin.serialize() for txin in parsed.inputs] == [txin.serialize() for txin in tx.inputs]
    assert list(parsed.outputs) == list(tx.outputs)


@pytest.mark.parametrize("tx", [LEGACY, SEGWIT], ids=["legacy", "segwit"])
def test_every_truncation_is_refused(tx: Transaction) -> None:
    for size in range(len(tx.raw)):
        with pytest.raises(DecodeError):
            Transaction.parse(tx.raw[:size])


def test_bytes_behind_the_end_are_refused() -> None:
    with pytest.raises(DecodeError, match="1 bytes behind"):
        Transaction.parse(LEGACY.raw + b"\0")


REFUSED = {
    "superfluous-witness": (HEAD + "0001" + INPUT + OUTPUT + "00" + TAIL, "Superfluous witness record"),
    "unknown-flag": (HEAD + "0002" + INPUT + OUTPUT + TAIL, "Unknown transaction optional data"),
    "unknown-flag-beside-witness": (HEAD + "0003" + INPUT + OUTPUT + "010161" + TAIL, "Unknown transaction"),
    "long-count": (HEAD + "fd0100" + INPUT[2:] + OUTPUT + TAIL, "non-canonical"),
    "long-script-length": (HEAD + INPUT.replace("0151", "fd010051") + OUTPUT + TAIL, "non-canonical"),
    "too-many-inputs": (HEAD + "fe01000002" + INPUT[2:] + OUTPUT + TAIL, "size too large"),
}


@pytest.mark.parametrize(("raw", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(raw: str, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        Transaction.parse(bytes.fromhex(raw))


def test_zero_inputs_depend_on_the_encoding() -> None:
    raw = bytes.fromhex(HEAD + "00" + OUTPUT + TAIL)
    legacy = Transaction.parse(raw, allow_witness=False)
    assert (len(legacy.inputs), legacy.outputs[0].value) == (0, 7)
    with pytest.raises(DecodeError):
        Transaction.parse(raw)


def test_marker_and_flag_zero_is_an_empty_transaction() -> None:
    tx = Transaction.parse(bytes.fromhex(HEAD + "0000" + TAIL))
    assert (tx.inputs, tx.outputs, tx.lock_time) == ([], [], 9)
    assert not tx.has_witness


def test_versions_are_unsigned() -> None:
    tx = Transaction.parse(b"\xff\xff\xff\xff" + LEGACY.raw[4:])
    assert tx.version == 0xFFFFFFFF
    assert Transaction(0xFFFFFFFF, tx.inputs, tx.outputs, 9).raw == tx.raw


def test_values_are_signed() -> None:
    raw = LEGACY.raw.replace(bytes.fromhex("0700000000000000"), b"\xff" * 8)
    assert Transaction.parse(raw).outputs[0].value == -1


def test_coinbase_spends_the_null_outpoint_alone() -> None:
    assert Transaction(1, [TxIn(NULL_OUTPOINT, b"ab")], [TxOut(1, b"")]).is_coinbase
    assert not Transaction(1, [TxIn(NULL_OUTPOINT), TxIn(PREVOUT)], [TxOut(1, b"")]).is_coinbase
    assert not LEGACY.is_coinbase
