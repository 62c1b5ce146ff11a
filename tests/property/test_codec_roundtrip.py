"""Encodings: decoding what was encoded gives it back, and decoding anything never fails in an unknown way."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from clarion.node.errors import DecodeError
from clarion.node.primitives.asm import to_asm
from clarion.node.primitives.base58 import decode_base58, decode_base58check, encode_base58, encode_base58check
from clarion.node.primitives.bech32 import BECH32, BECH32M, decode_bech32, encode_bech32, from_5_bits, to_5_bits
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.codec import compact_size, read_compact_size
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.script import (
    decode_number,
    encode_number,
    has_valid_ops,
    is_push_only,
    iter_ops,
    push_data,
    push_number,
)
from clarion.node.primitives.templates import solve
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut, decode_hex_transaction

UINT32 = st.integers(0, 2**32 - 1)
SCRIPTS = st.binary(max_size=300)
OUTPOINTS = st.binary(min_size=36, max_size=36).map(OutPoint)
INPUTS = st.builds(TxIn, OUTPOINTS, SCRIPTS, UINT32, st.lists(SCRIPTS, max_size=3).map(tuple))
OUTPUTS = st.builds(TxOut, st.integers(-(2**63), 2**63 - 1), SCRIPTS)
TRANSACTIONS = st.builds(
    Transaction, UINT32, st.lists(INPUTS, min_size=1, max_size=4), st.lists(OUTPUTS, max_size=4), UINT32
)
HEADERS = st.builds(
    BlockHeader,
    st.integers(-(2**31), 2**31 - 1),
    st.binary(min_size=32, max_size=32),
    st.binary(min_size=32, max_size=32),
    UINT32,
    UINT32,
    UINT32,
)


@given(st.integers(0, 2**64 - 1))
def test_compact_size(value: int) -> None:
    data = compact_size(value)
    assert read_compact_size(data, 0, range_check=False) == (value, len(data))


@given(TRANSACTIONS)
def test_transaction(tx: Transaction) -> None:
    parsed = Transaction.parse(tx.raw)
    assert (parsed.raw, parsed.txid, parsed.wtxid, parsed.base_size) == (tx.raw, tx.txid, tx.wtxid, tx.base_size)
    again = Transaction(parsed.version, parsed.inputs, parsed.outputs, parsed.lock_time)
    assert (again.raw, again.txid, again.has_witness) == (tx.raw, tx.txid, tx.has_witness)
    assert Transaction.parse(tx.serialize_without_witness()).txid == tx.txid


@given(HEADERS, st.lists(TRANSACTIONS, max_size=3))
def test_block(header: BlockHeader, txs: list[Transaction]) -> None:
    block = Block(header, txs)
    parsed = Block.parse(block.raw)
    assert (parsed.hash, parsed.raw, parsed.base_size) == (block.hash, block.raw, block.base_size)
    assert [tx.wtxid for tx in parsed.txs] == [tx.wtxid for tx in txs]


@given(TRANSACTIONS, st.data())
def test_changed_transaction_parses_or_is_refused(tx: Transaction, data: st.DataObject) -> None:
    raw = bytearray(tx.raw)
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DecodeError):
        assert Transaction.parse(bytes(raw)).raw == raw


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    for parse in (Transaction.parse, Block.parse, BlockHeader.parse, decode_hex_transaction):
        with contextlib.suppress(DecodeError):
            parse(data)


@given(SCRIPTS)
def test_any_bytes_are_a_script(script: bytes) -> None:
    ends = [end for _, _, end in iter_ops(script)]
    assert ends == sorted(set(ends))
    whole = (ends[-1] if ends else 0) == len(script)
    assert to_asm(script, decode_sighash=True).endswith("[error]") != whole
    assert whole or not (has_valid_ops(script) or is_push_only(script))
    assert solve(script).type


@given(st.lists(st.binary(max_size=600), max_size=4))
def test_pushes(items: list[bytes]) -> None:
    script = b"".join([push_data(item) for item in items])
    assert [data for _, data, _ in iter_ops(script)] == items
    assert is_push_only(script)


@given(st.integers(-(2**63), 2**63 - 1))
def test_script_numbers(value: int) -> None:
    assert decode_number(encode_number(value)) == value
    assert is_push_only(push_number(value))


@given(st.binary(max_size=80))
def test_base58(data: bytes) -> None:
    assert decode_base58(encode_base58(data), 80) == data
    assert decode_base58check(encode_base58check(data), 80) == data


@given(st.binary(max_size=40), st.sampled_from([BECH32, BECH32M]))
def test_bech32(data: bytes, constant: int) -> None:
    values = to_5_bits(data)
    assert from_5_bits(values) == data
    assert decode_bech32(encode_bech32("bc", values, constant).upper()) == ("bc", values, constant)
