"""What the node and its script workers send each other.

Owns: the bytes of a batch and of its answer. Never: pipes, processes.

A batch is `<u32 flags>` and then units: `<u32 tx_index> <u32 first> <u32 end> <u64 position> <u32 length> <raw
transaction>`, and for each of its inputs the output that it spends as on the wire; all numbers little-endian. An answer
is empty if no check failed, else `<u64 position> <u32 tx_index> <u32 input_index> <name of the script error>`.
"""

import struct
from collections.abc import Iterator

from clarion.node.primitives.coin import encode_outputs
from clarion.node.script.errors import ScriptError
from clarion.node.script.spending_tx import SpendingTx
from clarion.node.validation.batches import Batch
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.inline_queue import Found, SpendUnit

_FLAGS = struct.Struct("<I")
_UNIT = struct.Struct("<IIIQI")
_FAILURE = struct.Struct("<QII")


def encode_batch(batch: Batch, flags: int, base: int = 0) -> bytes:
    """Return the message that asks a worker to check `batch`, whose positions count on from `base`."""
    parts = [_FLAGS.pack(flags)]
    for job, first, end, position in batch:
        raw = job.tx.raw
        parts += (_UNIT.pack(job.tx_index, first, end, base + position, len(raw)), raw)
        parts.append(job.spent_raw or encode_outputs(job.spent_outputs))
    return b"".join(parts)


def decode_batch(message: bytes) -> tuple[int, Iterator[SpendUnit]]:
    """Return (flags, units) of a message; transactions are cut as the units are taken."""
    return _FLAGS.unpack_from(message)[0], _decode_units(message, _FLAGS.size)


def _decode_units(message: bytes, at: int) -> Iterator[SpendUnit]:
    while at < len(message):
        tx_index, first, end, position, length = _UNIT.unpack_from(message, at)
        at += _UNIT.size
        tx = SpendingTx(message[at : at + length])
        at = tx.read_spent(message, at + length)
        yield SpendUnit(tx, tx_index, first, end, position)


def encode_answer(found: Found | None) -> bytes:
    """Return a worker's answer to one batch."""
    if found is None:
        return b""
    failure = found.failure
    return _FAILURE.pack(found.position, failure.tx_index, failure.input_index) + failure.error.name.encode()


def decode_answer(message: bytes) -> Found | None:
    """Return what a worker's answer says."""
    if not message:
        return None
    position, tx_index, input_index = _FAILURE.unpack_from(message)
    error = ScriptError[message[_FAILURE.size :].decode()]
    return Found(position, ScriptFailure(tx_index, input_index, error))
