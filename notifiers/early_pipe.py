"""The pipe through which rows of the mempool reach the events process before they are durable.

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
from clarion.node.primitives.ids import BlockHash

PIPE_BYTES = 1 << 20
"""Room that is asked for; Linux gives 64 KiB unasked. One transaction may have 400 kB."""

_READ_BYTES = 1 << 16
_LENGTH = struct.Struct("<I")
_Fields = tuple[int, int, bytes, int, int, bytes, bytes | None, str | None]


def _encode(row: EventRow) -> bytes:
    fields = (row.seq, int(row.kind), row.block_hash, row.height, row.time, row.body, row.txid, row.reason)
    data = msgspec.msgpack.encode(fields)
    return _LENGTH.pack(len(data)) + data


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
                if not self._send(row):
                    return count
        return len(rows)

    def _send(self, row: EventRow) -> bool:
        if self._connection.closed:
            return False
        self._rest = self._write(self._rest)
        if self._rest:
            return False
        frame = _encode(row)
        rest = self._write(frame)
        if len(rest) == len(frame):
            return False
        # A row that has begun must be finished before the next one.
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
        self._decoder = msgspec.msgpack.Decoder(_Fields)

    def receive(self) -> list[EventRow]:
        """Return the rows that have arrived whole; call it when the pipe is readable. Raises EOFError at its end."""
        chunk = os.read(self._connection.fileno(), _READ_BYTES)
        if not chunk:
            raise EOFError
        self._data += chunk
        return list(self._rows())

    def _rows(self) -> Iterator[EventRow]:
        at = 0
        while len(self._data) >= at + _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data, at)
            end = at + _LENGTH.size + length
            if len(self._data) < end:
                break
            seq, kind, block_hash, height, time, body, txid, reason = self._decoder.decode(
                self._data[at + _LENGTH.size : end]
            )
            yield EventRow(EventKind(kind), BlockHash(block_hash), height, time, body, seq, txid, reason)
            at = end
        del self._data[:at]
