"""Numbered append-only files of framed records: what block and undo files share.

Owns: descriptors, frames (magic, length, record), appending, positioned reads, making it durable, cutting torn tails.
Never: what a record holds.
"""

import os
import struct
import threading
from collections import OrderedDict
from pathlib import Path

from clarion.node.errors import BlockFileError, StorageError
from clarion.node.storage.rows import BlockPosition
from clarion.node.storage.xor_key import apply_xor, read_xor_key

FRAME_SIZE = 8
"""Magic and little-endian length in front of each record."""

MAX_OPEN_FILES = 64

_LENGTH = struct.Struct("<I")


class _OpenFile:
    """A descriptor, closed when nobody uses it any more: a read may be under way while the cache lets go of it."""

    __slots__ = ("fd", "identity")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        stat = os.fstat(fd)
        self.identity = (stat.st_dev, stat.st_ino)

    def __del__(self) -> None:
        os.close(self.fd)


class FlatFiles:
    """The files `<prefix>NNNNN.dat` of one folder.

    Reads may come from any thread or process and take no lock. Writes and cuts belong to one thread of the one process
    that writes; `sync` may run on another one beside it.
    """

    def __init__(self, folder: Path, prefix: str, magic: bytes) -> None:
        self._folder = folder
        self._prefix = prefix
        self._magic = magic
        self._key = read_xor_key(folder)
        self._cache: OrderedDict[int, _OpenFile] = OrderedDict()
        self._cache_lock = threading.Lock()
        self._writing: dict[int, _OpenFile] = {}
        self._dirty: dict[int, _OpenFile] = {}
        self._new_entries = False
        self._write_lock = threading.Lock()
        """Held while the three above change: a write is either seen by a sync beside it or left to the next one."""

    def path(self, file: int) -> Path:
        """Return the path of file number `file`."""
        return self._folder / f"{self._prefix}{file:05d}.dat"

    def numbers(self) -> list[int]:
        """Return the numbers of the files that exist, ascending."""
        names = self._folder.glob(f"{self._prefix}?????.dat")
        return sorted(int(path.stem[-5:]) for path in names if path.stem[-5:].isdigit())

    def size(self, file: int) -> int:
        """Return a file's length in bytes, 0 if it does not exist."""
        try:
            return self.path(file).stat().st_size
        except FileNotFoundError:
            return 0

    def read(self, position: BlockPosition) -> bytes:
        """Return the record at `position`. Raises BlockFileError if its file, its frame or a part of it is missing."""
        file, offset, length = position
        path = self.path(file)
        try:
            handle = self._open_for_reading(file, path)
            frame = apply_xor(os.pread(handle.fd, FRAME_SIZE, offset - FRAME_SIZE), self._key, offset - FRAME_SIZE)
            if frame[:4] != self._magic or len(frame) != FRAME_SIZE or _LENGTH.unpack_from(frame, 4)[0] != length:
                raise BlockFileError(f"{path}: no record of {length} bytes at offset {offset}")
            data = os.pread(handle.fd, length, offset)
        except OSError as error:
            raise BlockFileError(f"{path}: {error.strerror}") from None
        if len(data) != length:
            raise BlockFileError(f"{path}: the record at offset {offset} is cut off ({len(data)} of {length} bytes)")
        return apply_xor(data, self._key, offset)

    def read_part(self, file: int, offset: int, length: int) -> bytes:
        """Return bytes of a file from `offset` on. Raises BlockFileError if it is missing or ends before."""
        path = self.path(file)
        try:
            data = os.pread(self._open_for_reading(file, path).fd, length, offset)
        except OSError as error:
            raise BlockFileError(f"{path}: {error.strerror}") from None
        if len(data) != length:
            raise BlockFileError(f"{path}: {len(data)} of {length} bytes at offset {offset}")
        return apply_xor(data, self._key, offset)

    def _open_for_reading(self, file: int, path: Path) -> _OpenFile:
        # The name decides, not the descriptor: a file that was moved away or deleted is gone for us too.
        stat = os.stat(path)
        with self._cache_lock:
            handle = self._cache.get(file)
            if handle is not None and handle.identity == (stat.st_dev, stat.st_ino):
                self._cache.move_to_end(file)
                return handle
        handle = _OpenFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        with self._cache_lock:
            self._cache[file] = handle
            self._cache.move_to_end(file)
            while len(self._cache) > MAX_OPEN_FILES:
                self._cache.popitem(last=False)
        return handle

    def write(self, file: int, at: int, record: bytes) -> BlockPosition:
        """Write a framed record whose frame starts at `at`, return its position. Not durable before `sync`."""
        framed = apply_xor(self._magic + _LENGTH.pack(len(record)) + record, self._key, at)
        path = self.path(file)
        with self._write_lock:
            try:
                handle = self._open_for_writing(file, path)
                view = memoryview(framed)
                while view:
                    written = os.pwrite(handle.fd, view, at)
                    at += written
                    view = view[written:]
            except OSError as error:
                raise StorageError(f"{path}: {error.strerror}") from error
            self._dirty[file] = handle
        return BlockPosition(file, at - len(record), len(record))

    def _open_for_writing(self, file: int, path: Path) -> _OpenFile:
        handle = self._writing.get(file)
        try:
            stat = os.stat(path)
        except FileNotFoundError:
            self._new_entries = True
        else:
            if handle is not None and handle.identity == (stat.st_dev, stat.st_ino):
                return handle
        handle = _OpenFile(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
        self._writing[file] = handle
        return handle

    def end_of_records(self, file: int, start: int) -> int:
        """Return where the last whole record behind byte `start` ends, whatever lies between; `start` if there is none."""
        size = self.size(file)
        data = self.read_part(file, start, size - start) if size > start else b""
        at = end = 0
        while (at := data.find(self._magic, at)) >= 0 and at + FRAME_SIZE <= len(data):
            behind = at + FRAME_SIZE + _LENGTH.unpack_from(data, at + 4)[0]
            if behind <= len(data):
                at = end = behind
            else:
                at += 1
        return start + end

    def cut(self, file: int, end: int) -> int:
        """Cut what lies behind `end` in a file, durably, and return how many bytes that were."""
        surplus = self.size(file) - end
        if surplus <= 0:
            return 0
        path = self.path(file)
        try:
            with self._write_lock:
                handle = self._open_for_writing(file, path)
            os.ftruncate(handle.fd, end)
            os.fsync(handle.fd)
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from error
        return surplus

    def remove(self, file: int) -> None:
        """Delete a file. Does nothing if it is not there. Raises StorageError."""
        path = self.path(file)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from error
        with self._write_lock:
            self._writing.pop(file, None)
            self._dirty.pop(file, None)
            self._new_entries = True
        with self._cache_lock:
            self._cache.pop(file, None)

    def sync(self) -> None:
        """Make every write that ended before the call durable: data, then new names in the folder. Raises StorageError.

        May run beside appends of another thread.
        """
        with self._write_lock:
            dirty, self._dirty = self._dirty, {}
            new_entries, self._new_entries = self._new_entries, False
        try:
            for _, handle in sorted(dirty.items()):
                os.fdatasync(handle.fd)
            if new_entries:
                sync_folder(self._folder)
        except OSError as error:
            # After a failed sync the system may have dropped the data: what was not synced must not be referred to.
            raise StorageError(f"{self._folder}: cannot sync {self._prefix} files: {error.strerror}") from error
        newest = max(dirty, default=0)
        with self._write_lock:
            for file in [number for number in self._writing if number < newest and number not in self._dirty]:
                del self._writing[file]

    def close(self) -> None:
        """Let go of all descriptors. Does not sync."""
        with self._cache_lock:
            self._cache.clear()
        self._writing.clear()


def sync_folder(folder: Path) -> None:
    """Make new and removed names in a folder durable. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
