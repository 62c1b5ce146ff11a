"""What the node and its script workers send each other.

Owns: the bytes of a batch and of its answer. Never: pipes, processes.

A batch is `<u32 flags>` and then units: `<u32 tx_index> <u32 first> <u32 end> <u64 position> <u32 length> <raw
transaction>`, and for each of its inputs `<i64 value> <u32 length> <script>` of the output that it spends; all numbers
little-endian. A unit whose transaction is the one before it has length 0 and no outputs. An answer is empty if no check
failed, else `<u64 position> <u32 tx_index> <u32 input_index> <name of the script error>`.
"""

import struct
from collections.abc import Iterator

from clarion.node.consensus.connect import ScriptJob
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.transaction import Transaction
from clarion.node.script.errors import ScriptError
from clarion.node.validation.batches import Batch, Unit
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.inline_queue import Found

_FLAGS = struct.Struct("<I")
_UNIT = struct.Struct("<IIIQI")
_OUTPUT = struct.Struct("<qI")
_FAILURE = struct.Struct("<QII")


def encode_batch(batch: Batch, flags: int) -> bytes:
    """Return the message that asks a worker to check `batch`."""
    parts = [_FLAGS.pack(flags)]
    before: ScriptJob | None = None
    for job, first, end, position in batch:
        raw = b"" if job is before else job.tx.raw
        parts.append(_UNIT.pack(job.tx_index, first, end, position, len(raw)))
        if raw:
            parts.append(raw)
            for coin in job.spent_outputs:
                parts.append(_OUTPUT.pack(coin.value, len(coin.script_pubkey)))
                parts.append(coin.script_pubkey)
        before = job
    return b"".join(parts)


def decode_batch(message: bytes) -> tuple[int, Iterator[Unit]]:
    """Return (flags, units) of a message; transactions are decoded as the units are taken."""
    return _FLAGS.unpack_from(message)[0], _decode_units(message, _FLAGS.size)


def _decode_units(message: bytes, at: int) -> Iterator[Unit]:
    job: ScriptJob | None = None
    while at < len(message):
        tx_index, first, end, position, length = _UNIT.unpack_from(message, at)
        at += _UNIT.size
        if length:
            tx = Transaction.parse(message[at : at + length])
            at += length
            coins = []
            for _ in tx.inputs:
                value, size = _OUTPUT.unpack_from(message, at)
                at += _OUTPUT.size
                coins.append(Coin(value, message[at : at + size], 0))
                at += size
            job = ScriptJob(tx, coins, tx_index)
        assert job is not None, "the first unit of a batch has a transaction"
        yield Unit(job, first, end, position)


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
