"""The file of `clarion db dump`: chunks, each with a digest that covers everything before it.

Owns: frames, digests, refusing files that are not whole or not ours. Never: what the chunks mean.

    magic     14 bytes, then the format's number, little-endian uint16
    chunk     kind (1 byte), length (little-endian uint32), that many bytes of MessagePack,
              SHA-256 of the digest before (at first: of magic and number), kind, length and bytes
    ...       the first chunk is HEAD, the last one is END and empty
"""

import hashlib
import os
import struct
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from clarion.node.errors import ConfigError, StorageError
from clarion.node.storage.flat_files import sync_folder
from clarion.node.storage.migrate import Network

MAGIC = b"CLARION DUMP\r\n"
FORMAT = 1

_PREFIX = MAGIC + FORMAT.to_bytes(2, "little")
_FRAME = struct.Struct("<BI")
_DIGEST_SIZE = 32
_MAX_CHUNK = 256 << 20
_CHAIN = ("network", "magic", "log_id")
"""What in a head stays the same as long as it is the same chain's."""


class Kind(IntEnum):
    """What a chunk holds."""

    HEAD = 1
    BLOCKS = 2
    COINS = 3
    ACTIVE = 4
    EVENTS = 5
    END = 9


class Chunk(NamedTuple):
    """A chunk: `content` decoded, `end` the offset behind it."""

    kind: Kind
    content: Any
    end: int


def _digest(before: bytes, frame: bytes, data: bytes) -> bytes:
    return hashlib.sha256(before + frame + data).digest()


class DumpWriter:
    """Writes `<path>.part`, which becomes `path` when it is finished."""

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        """Go on with a part of the same `head`, or begin anew where the chain has moved on since.

        Raises ConfigError if the file can't be written, or would take the place of something else.
        """
        self._path = path
        self._part = path.with_name(path.name + ".part")
        if path.exists():
            raise ConfigError(f"{path} exists already: name another file, or remove it first")
        self.last: Chunk | None = None
        """The last whole chunk of an earlier run behind HEAD."""
        try:
            self._file = self._part.open("r+b" if self._part.exists() else "w+b")
        except OSError as error:
            raise ConfigError(f"{self._part}: {error.strerror}") from None
        self._before = hashlib.sha256(_PREFIX).digest()
        try:
            resumed = self._resume(head)
        except ConfigError:
            self._file.close()
            raise
        if not resumed:
            self._file.seek(0)
            self._file.truncate()
            self._before = hashlib.sha256(_PREFIX).digest()
            self._file.write(_PREFIX)
            self.append(Kind.HEAD, dict(head))

    def _resume(self, head: Mapping[str, Any]) -> bool:
        prefix = self._file.read(len(_PREFIX))
        if not _PREFIX.startswith(prefix):
            raise self._foreign()
        if prefix != _PREFIX:
            return False
        first = True
        end = self._file.tell()
        while (chunk := self._read_whole()) is not None:
            if first and any(chunk.content.get(key) != head.get(key) for key in _CHAIN):
                raise self._foreign()
            if first and chunk.content != dict(head):
                return False
            if not first:
                self.last = chunk
            first = False
            end = chunk.end
        self._file.seek(end)
        self._file.truncate()
        return not first

    def _foreign(self) -> ConfigError:
        return ConfigError(
            f"{self._part} is not an unfinished dump of this chain: name another file, or remove it first"
        )

    def _read_whole(self) -> Chunk | None:
        frame = self._file.read(_FRAME.size)
        if len(frame) < _FRAME.size:
            return None
        kind, length = _FRAME.unpack(frame)
        data = self._file.read(length)
        digest = self._file.read(_DIGEST_SIZE)
        if kind == Kind.END or digest != _digest(self._before, frame, data):
            return None
        self._before = digest
        return Chunk(Kind(kind), msgspec.msgpack.decode(data), self._file.tell())

    def append(self, kind: Kind, content: Any) -> int:
        """Write a chunk and return its size in bytes. Raises StorageError."""
        data = b"" if kind is Kind.END else msgspec.msgpack.encode(content)
        frame = _FRAME.pack(kind, len(data))
        self._before = _digest(self._before, frame, data)
        try:
            self._file.write(frame + data + self._before)
        except OSError as error:
            raise StorageError(f"{self._part}: {error.strerror}") from error
        return len(data)

    def finish(self) -> None:
        """Write END, make the file durable and give it its name. Raises StorageError."""
        self.append(Kind.END, None)
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._part.replace(self._path)
            sync_folder(self._path.parent)
        except OSError as error:
            raise StorageError(f"{self._path}: {error.strerror}") from error

    def close(self) -> None:
        """Keep what was written, for the next run to go on with."""
        self._file.close()


class DumpReader:
    """Reads a dump. Use as a context manager."""

    def __init__(self, path: Path, network: Network) -> None:
        """Raises ConfigError, naming the file, if it is not a whole dump of this network and format."""
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}") from None
        try:
            self.size = os.fstat(self._file.fileno()).st_size
            self._check_kind()
            head = next(self.chunks(len(_PREFIX)))
            self.start = head.end
            self.head: dict[str, Any] = head.content
            self._check_network(network)
            self.id = self._digest_before(self.start)
            """Names the dump: the digest of its head."""
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "DumpReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _check_kind(self) -> None:
        prefix = self._file.read(len(_PREFIX))
        if prefix[: len(MAGIC)] != MAGIC:
            raise ConfigError(f"{self.path} is not a dump of Clarion's")
        number = int.from_bytes(prefix[len(MAGIC) :], "little")
        if number != FORMAT:
            raise ConfigError(
                f"{self.path} was written by a newer Clarion (format {number}, this program knows {FORMAT})"
            )
        end = _FRAME.pack(Kind.END, 0)
        at = self.size - len(end) - _DIGEST_SIZE
        self._file.seek(max(at, 0))
        tail = self._file.read()
        if at < len(_PREFIX) or tail != end + _digest(self._digest_before(at), end, b""):
            raise ConfigError(f"{self.path} is not whole: its end is missing or damaged")

    def _check_network(self, network: Network) -> None:
        name, magic = self.head.get("network"), bytes(self.head.get("magic") or b"")
        if name != network.name:
            raise ConfigError(f"{self.path} holds the network {name}, not {network.name}")
        if magic != network.magic:
            raise ConfigError(f"{self.path} holds another {name} (magic {magic.hex()}, not {network.magic.hex()})")

    def _digest_before(self, at: int) -> bytes:
        if at == len(_PREFIX):
            return hashlib.sha256(_PREFIX).digest()
        self._file.seek(at - _DIGEST_SIZE)
        return self._file.read(_DIGEST_SIZE)

    def chunks(self, at: int) -> Iterator[Chunk]:
        """Yield the chunks from offset `at` on, END last. Raises ConfigError where one is damaged."""
        before = self._digest_before(at)
        kind = None
        while kind is not Kind.END:
            self._file.seek(at)
            frame = self._file.read(_FRAME.size)
            number, length = _FRAME.unpack(frame) if len(frame) == _FRAME.size else (0, 0)
            if number not in list(Kind) or length > _MAX_CHUNK:
                raise ConfigError(f"{self.path}: damaged at offset {at}: no chunk begins here")
            data = self._file.read(length)
            digest = self._file.read(_DIGEST_SIZE)
            if digest != _digest(before, frame, data):
                raise ConfigError(f"{self.path}: damaged at offset {at}: the digest is wrong")
            before, kind, at = digest, Kind(number), self._file.tell()
            yield Chunk(kind, None if kind is Kind.END else msgspec.msgpack.decode(data), at)
