"""Raw blocks in the reference's `blk?????.dat` format.

Owns: where the next block goes, and cutting off what a crash left behind. Never: whether a block is valid.
"""

from pathlib import Path
from typing import NamedTuple

from clarion.node.errors import BlockFileError, DecodeError
from clarion.node.primitives.block import BlockHeader
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage.blk_reader import BlkFile
from clarion.node.storage.flat_files import FRAME_SIZE, FlatFiles
from clarion.node.storage.rows import BlockPosition

MAX_BLOCK_FILE_SIZE = 128 * 1024 * 1024


class Unnamed(NamedTuple):
    """What lay behind the last block that the index knows, in its file."""

    blocks: int
    """Whole records, which are kept."""
    torn_bytes: int
    """What was cut off behind them."""


class BlockFiles:
    """The block files of a folder. Reads take no lock and may come from any thread or process; one thread appends."""

    def __init__(self, folder: Path, magic: bytes, *, max_file_size: int = MAX_BLOCK_FILE_SIZE) -> None:
        """`magic` are the network's four bytes. A folder with an obfuscation key is read and written with it."""
        self._files = FlatFiles(folder, "blk", magic)
        self._magic = magic
        self.folder = folder
        self._max_file_size = max_file_size
        self._file: int | None = None
        self._end = 0

    def recover(self, last: BlockPosition | None, *, keep: bool = True) -> Unnamed:
        """Say where appending starts, once, before the first append; return what no commit names.

        `last` is the highest position (by file, then offset) that the block index knows, where its block lies (the caller
        has looked). Records behind it in its file are kept: there are some after a crash, and all newer ones if the index
        is an older copy. With `keep` off they are cut too: the caller is about to write them again.
        Files that the index does not know are left alone, they may be the user's: appending starts behind them.
        """
        numbers = self._files.numbers()
        newest = numbers[-1] if numbers else -1
        unnamed, end = Unnamed(0, 0), 0
        if last is not None and last.file in numbers:
            blocks, end = self._whole_records(last) if keep else (0, last.end)
            unnamed = Unnamed(blocks, self._files.cut(last.file, end))
        if last is None or last.file not in numbers or newest > last.file:
            self._file, self._end = max(newest, last.file if last else -1) + 1, 0
        else:
            self._file, self._end = last.file, end
        return unnamed

    def _whole_records(self, last: BlockPosition) -> tuple[int, int]:
        """Return how many records follow, and where the last one ends. What is damaged between them stays, too."""
        count, end = 0, last.end
        if self._files.size(last.file) <= end:
            return count, end
        with BlkFile(self.path(last.file), self._magic) as file:
            for offset, length in file.records(end, skip_damage=True):
                count, end = count + 1, offset + length
        return count, end

    def append(self, raw: bytes) -> BlockPosition:
        """Append a block and return its position. It is durable after the next `sync`. Raises StorageError."""
        if self._file is None:
            self.recover(None)
        assert self._file is not None
        if self._end and self._end + FRAME_SIZE + len(raw) > self._max_file_size:
            self._file, self._end = self._file + 1, 0
        position = self._files.write(self._file, self._end, raw)
        self._end = position.end
        return position

    def read(self, position: BlockPosition) -> bytes:
        """Return the raw block at `position`. Raises BlockFileError if its file is not there or is damaged."""
        return self._files.read(position)

    def fault_at(self, position: BlockPosition, block_hash: BlockHash) -> str:
        """Return why the block of this hash is not at `position`, as far as its frame and header tell; "" if it is."""
        try:
            found = BlockHeader.parse(self.read(position)).hash
        except (BlockFileError, DecodeError) as error:
            return str(error)
        if found == block_hash:
            return ""
        return f"{self.path(position.file)} has block {hash_to_hex(found)} at offset {position.offset}"

    def read_part(self, file: int, offset: int, length: int) -> bytes:
        """Return bytes of block file number `file` from `offset` on. Raises BlockFileError if they are not there."""
        return self._files.read_part(file, offset, length)

    @property
    def current(self) -> int | None:
        """Number of the file that is appended to, None before `recover`."""
        return self._file

    def numbers(self) -> list[int]:
        """Return the numbers of the files that exist, ascending."""
        return self._files.numbers()

    def remove(self, file: int) -> None:
        """Delete block file number `file`, which nothing may refer to any more. Durable after `sync`."""
        self._files.remove(file)

    def path(self, file: int) -> Path:
        """Return the path of block file number `file`."""
        return self._files.path(file)

    def sync(self) -> None:
        """Make all appended blocks and new files durable. Raises StorageError."""
        self._files.sync()

    def close(self) -> None:
        """Let go of all descriptors. Does not sync."""
        self._files.close()
