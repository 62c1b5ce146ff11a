"""Scans block files for an import: any file in the reference's format, in any state.

Owns: finding records, and saying exactly where and why a file is damaged. Never: decoding a block.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from clarion.node.errors import BlockFileError
from clarion.node.storage.xor_key import apply_xor, read_xor_key

MIN_BLOCK_SIZE = 80
MAX_BLOCK_SIZE = 4_000_000
"""A block's largest serialised size in bytes (the reference's MAX_BLOCK_SERIALIZED_SIZE)."""

_FRAME_SIZE = 8
_CHUNK = 64 * 1024


class ScannedBlock(NamedTuple):
    """A record: `offset` is its first byte behind magic and length, `raw` its bytes."""

    offset: int
    raw: bytes


def block_paths(path: Path) -> list[Path]:
    """Return the block files that `path` means: itself, or a folder's `blk*.dat` by name. Raises BlockFileError."""
    if not path.is_dir():
        return [path]
    paths = sorted(path.glob("blk*.dat"))
    if not paths:
        raise BlockFileError(f"{path}: no blk*.dat file in this folder")
    return paths


def damaged(path: Path, offset: int, reason: str) -> BlockFileError:
    """Return the error that names file, offset and reason."""
    return BlockFileError(f"{path}: damaged at offset {offset}: {reason}")


def _skipped(damage: tuple[int, BlockFileError], end: int) -> str:
    start, error = damage
    return f"{error}; {end - start} bytes skipped"


def scan_blocks(path: Path, magic: bytes, *, start: int = 0, skip_damage: bool = False) -> Iterator[ScannedBlock]:
    """Yield the records of a block file in their order, from byte `start` on; see `BlkFile.records`."""
    with BlkFile(path, magic) as file:
        for offset, length in file.records(start, skip_damage=skip_damage):
            yield ScannedBlock(offset, file.read(offset, length))


class BlkFile:
    """One block file, open for reading. The key in `xor.dat` beside it is applied. Use as a context manager."""

    def __init__(self, path: Path, magic: bytes) -> None:
        """Raises BlockFileError if the file can't be opened."""
        self.path = path
        self._magic = magic
        self._key = read_xor_key(path.parent)
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise BlockFileError(f"{path}: {error.strerror}") from None
        self.size = os.fstat(self._fd).st_size

    def __enter__(self) -> "BlkFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._fd)

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes of the file, without its obfuscation. Raises BlockFileError."""
        return apply_xor(self._pread(offset, length), self._key, offset)

    def _pread(self, offset: int, length: int) -> bytes:
        try:
            return os.pread(self._fd, length, offset)
        except OSError as error:
            raise BlockFileError(f"{self.path}: {error.strerror}") from None

    def records(
        self, start: int = 0, *, skip_damage: bool = False, on_skipped: Callable[[str], None] = lambda text: None
    ) -> Iterator[tuple[int, int]]:
        """Yield (offset of the first byte behind magic and length, length) of each record from byte `start` on.

        Runs of zero bytes between records and at the end are skipped: the reference allocates its files ahead. At the
        first damage everything before it has been yielded and BlockFileError names file, offset and reason. With
        `skip_damage` the search goes on at the next magic instead, as the reference's -loadblock does, and `on_skipped` is
        told that line with the number of skipped bytes, once for all that lies between two records.
        """
        at = start
        damage: tuple[int, BlockFileError] | None = None
        while at < self.size:
            # The reference allocates zeros, which it does not obfuscate; other tools obfuscate whole files.
            plain = self._pread(at, _FRAME_SIZE)
            frame = apply_xor(plain, self._key, at)
            if not any(plain) or not any(frame):
                at = self._skip_zeros(at, self.read if any(plain) else self._pread)
                continue
            try:
                length = self._check_frame(at, frame)
            except BlockFileError as error:
                # Zeros may end inside these eight bytes, in front of a good record.
                zeros = max(len(each) - len(each.lstrip(b"\x00")) for each in (plain, frame))
                if zeros and damage is None:
                    at += zeros
                    continue
                if not skip_damage:
                    raise
                damage = damage or (at, error)
                at = self._find_magic(at + 1)
                continue
            if damage is not None:
                on_skipped(_skipped(damage, at))
                damage = None
            yield at + _FRAME_SIZE, length
            at += _FRAME_SIZE + length
        if damage is not None:
            on_skipped(_skipped(damage, self.size))

    def _check_frame(self, at: int, frame: bytes) -> int:
        if frame[:4] != self._magic[: len(frame)]:
            raise damaged(self.path, at, f"expected the network's magic {self._magic.hex()}, found {frame[:4].hex()}")
        if len(frame) < _FRAME_SIZE:
            raise damaged(self.path, at, f"the file ends inside a record's frame ({len(frame)} of {_FRAME_SIZE} bytes)")
        length = int.from_bytes(frame[4:], "little")
        if not MIN_BLOCK_SIZE <= length <= MAX_BLOCK_SIZE:
            raise damaged(
                self.path, at, f"a record of {length} bytes can't be a block ({MIN_BLOCK_SIZE} to {MAX_BLOCK_SIZE})"
            )
        left = self.size - at - _FRAME_SIZE
        if length > left:
            raise damaged(self.path, at, f"the file ends inside a block ({left} of {length} bytes)")
        return length

    def _skip_zeros(self, at: int, read: Callable[[int, int], bytes]) -> int:
        while at < self.size:
            chunk = read(at, _CHUNK)
            rest = chunk.lstrip(b"\x00")
            if rest:
                return at + len(chunk) - len(rest)
            at += len(chunk)
        return at

    def _find_magic(self, at: int) -> int:
        while at < self.size:
            chunk = self.read(at, _CHUNK)
            found = chunk.find(self._magic)
            if found >= 0:
                return at + found
            # The magic may begin in the last three bytes.
            at += max(len(chunk) - len(self._magic) + 1, 1)
        return self.size
