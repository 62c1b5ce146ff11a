"""Bodies of the rows about the mempool: what nothing else could replay once a transaction has left it.

Owns: their encoding. Never: SQL, delivery, the mempool.
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from clarion.node.primitives.codec import compact_size, read_compact_size, read_var_bytes
from clarion.node.primitives.coin import SpentOutput, encode_outputs
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.transaction import TxOut

BLOCK_REASON = "block"
"""Why most transactions leave: a block has them. Such rows have no txid of their own and tell of many transactions."""

_ADDED = struct.Struct("<QqII")
_SEQUENCE = struct.Struct("<Q")
_VALUE = struct.Struct("<q")
_CONFIRMED = struct.Struct("<32sQ")


class Added(NamedTuple):
    """What a TX_ADDED row says: the mempool's sequence, fee in satoshis, virtual size, transaction, what it spends."""

    mempool_sequence: int
    fee_sat: int
    vsize: int
    raw: bytes
    spent: tuple[TxOut, ...]


class Removed(NamedTuple):
    """What a TX_REMOVED row says of one transaction; `replaced_by` is the transaction that took its place."""

    txid: Txid
    mempool_sequence: int
    replaced_by: Txid | None


def added_body(mempool_sequence: int, fee_sat: int, vsize: int, raw: bytes, spent: Sequence[SpentOutput]) -> bytes:
    """Return the body of a TX_ADDED row. `spent` are the outputs that the inputs spend, in their order."""
    head = _ADDED.pack(mempool_sequence, fee_sat, vsize, len(raw))
    return b"".join((head, raw, compact_size(len(spent)), encode_outputs(spent)))


def read_added(body: bytes) -> Added:
    """Return what the body of a TX_ADDED row says."""
    sequence, fee_sat, vsize, length = _ADDED.unpack_from(body)
    end = _ADDED.size + length
    count, at = read_compact_size(body, end)
    spent = []
    for _ in range(count):
        (value,) = _VALUE.unpack_from(body, at)
        script, at = read_var_bytes(body, at + _VALUE.size)
        spent.append(TxOut(value, script))
    return Added(sequence, fee_sat, vsize, body[_ADDED.size : end], tuple(spent))


def read_added_transaction(body: bytes) -> tuple[int, bytes]:
    """Return (mempool sequence, raw transaction) of a TX_ADDED row's body: all that a raw topic needs."""
    sequence, _, _, length = _ADDED.unpack_from(body)
    return sequence, body[_ADDED.size : _ADDED.size + length]


def removed_body(mempool_sequence: int, replaced_by: Txid | None = None) -> bytes:
    """Return the body of a TX_REMOVED row of one transaction."""
    return _SEQUENCE.pack(mempool_sequence) + (replaced_by or b"")


def confirmed_body(confirmed: Sequence[tuple[Txid, int]]) -> bytes:
    """Return the body of a TX_REMOVED row for BLOCK_REASON: (txid, mempool sequence) of each transaction in order."""
    return b"".join([_CONFIRMED.pack(txid, sequence) for txid, sequence in confirmed])


def read_removed(txid: bytes | None, body: bytes) -> list[Removed]:
    """Return what a TX_REMOVED row says, from its txid and body: one transaction, or many where it has no txid."""
    if txid is None:
        return [Removed(Txid(each), sequence, None) for each, sequence in _CONFIRMED.iter_unpack(body)]
    replaced_by = body[_SEQUENCE.size :]
    return [Removed(Txid(txid), read_sequence(body), Txid(replaced_by) if replaced_by else None)]


def reset_body(mempool_sequence: int) -> bytes:
    """Return the body of a MEMPOOL_RESET row: the sequence that the mempool's next change will have."""
    return _SEQUENCE.pack(mempool_sequence)


def read_sequence(body: bytes) -> int:
    """Return the mempool sequence of a MEMPOOL_RESET row's body, or of a TX_REMOVED row of one transaction."""
    (sequence,) = _SEQUENCE.unpack_from(body)
    return int(sequence)
