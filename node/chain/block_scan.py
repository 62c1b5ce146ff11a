"""Block files read in an order in which parents come first, whatever the order in the files.

Owns: finding blocks, the places of those whose parent did not come yet, and reading them again when it does.
Never: decoding or judging a block, threads.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from clarion.node.errors import BlockFileError
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage.blk_reader import BlkFile

MAX_WAITING = 1_000_000
"""Places that are kept of blocks without a parent, some 250 bytes each: more blocks than the main chain has."""

_HEADER_SIZE = 80

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with (bytes read, blocks found) since the last call."""


class FoundBlock(NamedTuple):
    """A block in a file: `file` is the file's place in the list that was given, `offset` the block's first byte."""

    file: int
    offset: int
    length: int
    hash: BlockHash
    prev_hash: BlockHash


class BlockScan:
    """Finds the blocks of files. Used by one thread."""

    def __init__(
        self,
        files: Iterable[Path],
        magic: bytes,
        known: Callable[[BlockHash], bool],
        genesis_hash: BlockHash,
        *,
        interrupted: Callable[[], bool] = lambda: False,
        progress: Progress = lambda done, blocks: None,
    ) -> None:
        """`known` says whether a block's header is known, or was yielded by `blocks` and not refused since."""
        self.files = list(files)
        self.faults: list[str] = []
        """One line for each place where bytes were skipped, and for each file that could not be read."""
        self._told: set[str] = set()
        self._magic = magic
        self._known = known
        self._genesis_hash = genesis_hash
        self._interrupted = interrupted
        self._progress = progress
        self._waiting: dict[BlockHash, tuple[tuple[int, int, int], ...]] = {}
        self._waiting_count = 0
        self._ready: deque[tuple[int, int, int]] = deque()
        self._open: tuple[int, BlkFile] | None = None
        self.on_file: Callable[[int], None] = lambda file: None
        """Called before each file, with its place in the list."""

    @property
    def waiting(self) -> int:
        """Blocks whose parent did not come."""
        return self._waiting_count

    def blocks(self) -> Iterator[FoundBlock]:
        """Yield every block of the files, a parent before its children; those without a parent are not yielded."""
        for number in range(len(self.files)):
            if self._interrupted():
                return
            self.on_file(number)
            yield from self._file_blocks(number)

    def _file_blocks(self, number: int) -> Iterator[FoundBlock]:
        at = 0
        try:
            with BlkFile(self.files[number], self._magic) as file:
                for offset, length in file.records(skip_damage=True, on_skipped=self._fault):
                    if self._interrupted():
                        return
                    found = _identify(number, offset, length, file.read(offset, _HEADER_SIZE))
                    if found.hash == self._genesis_hash or self._known(found.prev_hash):
                        yield found
                        yield from self._children(found.hash)
                    else:
                        self._wait(found)
                    self._progress(offset + length - at, 1)
                    at = offset + length
                self._progress(file.size - at, 0)
        except BlockFileError as error:
            self._fault(str(error))

    def _children(self, parent: BlockHash) -> Iterator[FoundBlock]:
        """Yield the blocks that waited for this one, and all that waited for them."""
        self._release(parent)
        yield from self.ready()

    def ready(self) -> Iterator[FoundBlock]:
        """Yield the blocks that waited and now have their parent."""
        while self._ready and not self._interrupted():
            place = self._ready.popleft()
            found = self._identify_again(place)
            if found is not None:
                logger.debug("LoadExternalBlockFile: Processing out of order child %s", hash_to_hex(found.hash))
                yield found
                self._release(found.hash)

    def _release(self, parent: BlockHash) -> None:
        places = self._waiting.pop(parent, ())
        self._waiting_count -= len(places)
        self._ready.extend(places)

    def _identify_again(self, place: tuple[int, int, int]) -> FoundBlock | None:
        try:
            return _identify(*place, self._file(place[0]).read(place[1], _HEADER_SIZE))
        except BlockFileError as error:
            self._fault(str(error))
            return None

    def _wait(self, found: FoundBlock) -> None:
        logger.debug(
            "LoadExternalBlockFile: Out of order block %s, parent %s not known",
            hash_to_hex(found.hash),
            hash_to_hex(found.prev_hash),
        )
        if self._waiting_count >= MAX_WAITING:
            self._fault(f"{self.files[found.file]}: more than {MAX_WAITING} blocks wait for a parent")
            return
        places = self._waiting.get(found.prev_hash, ())
        self._waiting[found.prev_hash] = (*places, found[:3])
        self._waiting_count += 1

    def pass_over(self, found: FoundBlock, reason: str) -> None:
        """Note that a block is damaged; the search goes on behind it."""
        path = self.files[found.file]
        self._fault(f"{path}: the block at offset {found.offset} {reason}; {found.length} bytes skipped")

    def postpone(self, found: FoundBlock) -> None:
        """Keep a yielded block whose parent turned out to be unknown until another copy of the parent comes."""
        if self._known(found.prev_hash):
            self._ready.append(found[:3])
        else:
            self._wait(found)

    def read(self, found: FoundBlock) -> bytes:
        """Return the raw block. Raises BlockFileError."""
        return self._file(found.file).read(found.offset, found.length)

    def first_waiting(self) -> str:
        """Return in words a block whose parent did not come. There must be one."""
        parent, places = next(iter(self._waiting.items()))
        return f"{self.files[places[0][0]]}, offset {places[0][1]}, parent {hash_to_hex(parent)}"

    def _file(self, number: int) -> BlkFile:
        if self._open is None or self._open[0] != number:
            self.close()
            self._open = number, BlkFile(self.files[number], self._magic)
        return self._open[1]

    def close(self) -> None:
        """Close the file that waiting blocks were read from."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _fault(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            logger.error("%s", text)
            self.faults.append(text)


def _identify(file: int, offset: int, length: int, header: bytes) -> FoundBlock:
    return FoundBlock(file, offset, length, BlockHash(sha256d(header)), BlockHash(header[4:36]))
