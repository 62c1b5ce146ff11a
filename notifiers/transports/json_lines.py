"""`file:/path/events.jsonl`: one message a line, durable before it counts as delivered, rotated by size.

Owns: the file, its end after a crash, and the files before it. Never: compressing, or deleting what it did not write.
"""

import contextlib
import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import orjson

from clarion.node.errors import ConfigError, DeliveryError
from clarion.notifiers.lanes.transport import Message, NotifyUrl, TransportKind

DEFAULT_MAX_BYTES = 100 << 20
DEFAULT_KEEP = 10
_TAIL_BYTES = 1 << 20
_LINES_REMEMBERED = 1000


class JsonLines:
    """Appends to a file.

    A line that a crash tore is cut off, and messages that are in the file already, since the crash came before the
    lane had noted them, are not written twice.
    """

    def __init__(self, path: Path, max_bytes: int, keep: int, *, sync: bool = True) -> None:
        """`max_bytes` 0: never rotated. `keep`: how many full files stay, as `path.1` (the newest), `path.2`, …"""
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._sync = sync
        self._fd: int | None = None
        self._written: set[str] = set()

    def open(self) -> None:
        """Open the file and mend its end. Raises ConfigError."""
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            self._mend(self._fd)
        except OSError as error:
            raise ConfigError(f"-notify=file:{self._path}: {error.strerror}") from None

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def send(self, messages: Sequence[Message]) -> None:
        """Append the messages and return once they are on the disk. Raises DeliveryError."""
        try:
            self._rotate_if_full()
            fd = self._open_fd()
            new = [message for message in messages if message.id not in self._written]
            data = b"".join(message.body + b"\n" for message in new)
            size = os.fstat(fd).st_size
            try:
                self._write(fd, data)
            except OSError:
                # A full disk took part of it: the next attempt must not find half a line in front of it.
                with contextlib.suppress(OSError):
                    os.ftruncate(fd, size)
                raise
        except OSError as error:
            raise DeliveryError(f"{self._path}: {error.strerror}") from None
        # Only what a crash left behind can come twice, and that comes first.
        self._written.clear()

    def _write(self, fd: int, data: bytes) -> None:
        while data:
            data = data[os.write(fd, data) :]
        if self._sync:
            os.fdatasync(fd)

    def _open_fd(self) -> int:
        if self._fd is None:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        return self._fd

    def _mend(self, fd: int) -> None:
        size = os.fstat(fd).st_size
        start = max(0, size - _TAIL_BYTES)
        tail = os.pread(fd, size - start, start)
        whole = tail[: tail.rfind(b"\n") + 1]
        if len(whole) < len(tail) and (whole or not start):
            os.ftruncate(fd, start + len(whole))
        for line in deque(whole.splitlines(), _LINES_REMEMBERED):
            with contextlib.suppress(orjson.JSONDecodeError, KeyError, TypeError):
                self._written.add(orjson.loads(line)["id"])

    def _rotate_if_full(self) -> None:
        fd = self._open_fd()
        if not self._max_bytes or os.fstat(fd).st_size < self._max_bytes:
            return
        for number in range(self._keep, 1, -1):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{self._path}.{number - 1}", f"{self._path}.{number}")
        if self._keep:
            os.replace(self._path, f"{self._path}.1")
        else:
            self._path.unlink()
        self.close()


def _make(url: NotifyUrl) -> JsonLines:
    path = Path(url.path)
    if url.parts.netloc or not path.is_absolute():
        raise ConfigError(f"-notify={url.shown}: file:/path/to/events.jsonl expected")
    if not path.parent.is_dir():
        raise ConfigError(f"-notify={url.shown}: there is no folder {path.parent}")
    return JsonLines(
        path,
        url.number("max_bytes", DEFAULT_MAX_BYTES),
        url.number("keep", DEFAULT_KEEP),
        sync=not url.flag("nosync"),
    )


KIND = TransportKind(("file",), _make, frozenset(("max_bytes", "keep", "nosync")), batch=500, encodings=("json",))
