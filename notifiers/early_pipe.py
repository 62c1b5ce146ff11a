"""The pipe through which the events process hears of things before they are durable: rows of the mempool, blocks.

Owns: both ends and the encoding of rows on the way. Never: waiting: what does not fit is not sent, since the log has it.
"""

import contextlib
import fcntl
import os
import struct
import threading
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from clarion.node.events.row import EventKind, EventRow
from clarion.node.primitives.ids import BlockHash, Txid
from clarion.node.storage.rows import BlockPosition, StoredBlock

PIPE_BYTES = 1 << 20
"""Room that is asked for; Linux gives 64 KiB unasked. One transaction may have 400 kB."""

_READ_BYTES = 1 << 16
_LENGTH = struct.Struct("<I")


class _Row(msgspec.Struct, array_like=True, frozen=True, tag="row"):
    """The fields of an EventRow."""

    seq: int
    kind: int
    block_hash: bytes
    height: int
    time: int
    body: bytes
    txid: bytes | None
    reason: str | None


class _Block(msgspec.Struct, array_like=True, frozen=True, tag="block"):
    """The fields of a StoredBlock."""

    block_hash: bytes
    file: int
    offset: int
    length: int


def _encode_row(row: EventRow) -> bytes:
    return _frame(_Row(row.seq, int(row.kind), row.block_hash, row.height, row.time, row.body, row.txid, row.reason))


def _frame(message: _Row | _Block) -> bytes:
    data = msgspec.msgpack.encode(message)
    return _LENGTH.pack(len(data)) + data


def _decoded(message: _Row | _Block) -> EventRow | StoredBlock:
    if isinstance(message, _Block):
        return StoredBlock(BlockHash(message.block_hash), BlockPosition(message.file, message.offset, message.length))
    txid = None if message.txid is None else Txid(message.txid)
    return EventRow(
        EventKind(message.kind),
        BlockHash(message.block_hash),
        message.height,
        message.time,
        message.body,
        message.seq,
        txid,
        message.reason,
    )


class EarlySender:
    """The node's end. `send` may be called from one thread at a time, beside `close`."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._rest = b""
        os.set_blocking(connection.fileno(), False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):
                fcntl.fcntl(connection.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def send(self, rows: Sequence[EventRow]) -> int:
        """Send rows as far as there is room, and return how many are on their way. Never blocks."""
        # The lock keeps the bytes out of another file that could get the pipe's number after `close`.
        with self._lock:
            for count, row in enumerate(rows):
                if not self._send(_encode_row(row)):
                    return count
        return len(rows)

    def send_block(self, block: StoredBlock) -> bool:
        """Send where a block lies, if there is room. Never blocks."""
        place = block.position
        with self._lock:
            return self._send(_frame(_Block(block.block_hash, place.file, place.offset, place.length)))

    def _send(self, frame: bytes) -> bool:
        if self._connection.closed:
            return False
        self._rest = self._write(self._rest)
        if self._rest:
            return False
        rest = self._write(frame)
        if len(rest) == len(frame):
            return False
        # What has begun must be finished before the next one.
        self._rest = rest
        return True

    def _write(self, data: bytes) -> bytes:
        """Write as much as there is room for and return the rest."""
        try:
            return data[os.write(self._connection.fileno(), data) :] if data else data
        except OSError:  # full, or the process is gone, which others notice
            return data

    def close(self) -> None:
        """Close the pipe."""
        with self._lock:
            self._connection.close()


class EarlyReceiver:
    """The events process's end."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection
        self._data = bytearray()
        self._decoder = msgspec.msgpack.Decoder(_Row | _Block)

    def receive(self) -> list[EventRow | StoredBlock]:
        """Return what has arrived whole, in order; call it when the pipe is readable. Raises EOFError at its end."""
        chunk = os.read(self._connection.fileno(), _READ_BYTES)
        if not chunk:
            raise EOFError
        self._data += chunk
        return list(self._messages())

    def _messages(self) -> Iterator[EventRow | StoredBlock]:
        at = 0
        while len(self._data) >= at + _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data, at)
            end = at + _LENGTH.size + length
            if len(self._data) < end:
                break
            yield _decoded(self._decoder.decode(self._data[at + _LENGTH.size : end]))
            at = end
        del self._data[:at]
