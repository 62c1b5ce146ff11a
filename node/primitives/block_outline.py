"""The hashes of a block's transactions without the transactions: a third of the time that decoding them takes.

Owns: finding where each transaction begins and ends, its hash, the block's stripped size. Never: what is in them; bytes
that were not checked before. It reads blocks that we have stored.
"""

import struct
from hashlib import sha256 as _sha256
from typing import NamedTuple

from clarion.node.errors import DecodeError, EndOfData
from clarion.node.primitives.block import HEADER_SIZE
from clarion.node.primitives.codec import read_compact_size
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.transaction import Transaction, read_transaction


class BlockOutline(NamedTuple):
    """`txids` in the block's order; `base_size` and `size` are bytes without and with witnesses."""

    txids: list[Txid]
    base_size: int
    size: int
    coinbase: Transaction


def outline_block(data: bytes) -> BlockOutline:
    """Return the outline of the block that `data` holds from its first to its last byte. Raises DecodeError."""
    txids: list[Txid] = []
    try:
        count, at = read_compact_size(data, HEADER_SIZE)
        coinbase, _ = read_transaction(data, at, True)
        base_size = at
        for _ in range(count):
            start = at
            at, body, body_end = _find_end(data, at)
            if body_end is None:
                base = data[start:at]
            else:
                base = data[start : start + 4] + data[body:body_end] + data[at - 4 : at]
            base_size += len(base)
            txids.append(_sha256(_sha256(base).digest()).digest())  # type: ignore[arg-type]
    except (IndexError, struct.error):
        raise EndOfData(f"data ends inside transaction {len(txids)} of the block") from None
    if at != len(data):
        raise DecodeError(f"a block of {len(data)} bytes that ends at byte {at}")
    return BlockOutline(txids, base_size, len(data), coinbase)


def _find_end(data: bytes, at: int) -> tuple[int, int, int | None]:
    """Return (end, where inputs begin, where outputs end) of the transaction at `at`; the last is None without witness.

    The loops stand in line, as in `read_transaction`. Raises IndexError where data ends before.
    """
    at += 4
    body = at
    has_witness = not data[at]
    if has_witness:
        body = at = at + 2
    inputs = data[at]
    at += 1
    if inputs >= 253:
        inputs, at = read_compact_size(data, at - 1)
    for _ in range(inputs):
        length = data[at + 36]
        if length < 253:
            at += 41 + length
        else:
            length, at = read_compact_size(data, at + 36)
            at += length + 4
    outputs = data[at]
    at += 1
    if outputs >= 253:
        outputs, at = read_compact_size(data, at - 1)
    for _ in range(outputs):
        length = data[at + 8]
        if length < 253:
            at += 9 + length
        else:
            length, at = read_compact_size(data, at + 8)
            at += length
    if not has_witness:
        return at + 4, body, None
    body_end = at
    for _ in range(inputs):
        items = data[at]
        at += 1
        if items >= 253:
            items, at = read_compact_size(data, at - 1)
        for _ in range(items):
            length = data[at]
            if length < 253:
                at += 1 + length
            else:
                length, at = read_compact_size(data, at)
                at += length
    return at + 4, body, body_end
