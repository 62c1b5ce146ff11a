"""Filling the header tree from storage, column by column.

Owns: the links between headers that come in any order. Never: objects per header, hashing headers again.
"""

import gc
import struct
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import compress

from clarion.node.chain.header_columns import HASH_SIZE, NO_NUMBER, HeaderColumns, skip_height
from clarion.node.errors import StorageError
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.rows import BlockPage

_HEADER = struct.Struct("<i32s32sIII")

_STORED = ("height", "status", "tx_count", "chain_tx_count", "file", "data_pos", "data_size", "undo_pos", "undo_size")


def load_headers(columns: HeaderColumns, pages: Iterable[BlockPage], count: int, sequence_id: int) -> None:
    """Fill empty columns with the `count` headers that storage holds. Raises StorageError if one has no parent.

    Works and heights are taken as they were stored; all headers get the same sequence id.
    """
    assert not len(columns)
    if not count:
        return
    loading = _Loading(columns, count, sequence_id)
    with _collector_paused():
        for page in pages:
            loading.take(page)
    if loading.taken != count:
        raise StorageError(f"the block index holds {loading.taken} blocks instead of {count}")
    loading.link()
    loading.find_leaves()


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Rows come as tuples by the thousand and go again: the collector would walk them to find no cycle."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


class _Loading:
    def __init__(self, columns: HeaderColumns, count: int, sequence_id: int) -> None:
        self.taken = 0
        self._columns = columns
        self._prev_hashes = bytearray()
        # At their full size from the start: columns that grow side by side leave holes in memory.
        for column in columns.numbers():
            column.append(sequence_id if column is columns.sequence_id else 0)
            column *= count
        for data in (columns.hashes, columns.merkle_roots, columns.works, self._prev_hashes):
            data.append(0)
            data *= count * HASH_SIZE

    def take(self, page: BlockPage) -> None:
        """Copy rows into the columns."""
        columns, start = self._columns, self.taken
        end = start + len(page.hash)
        version, prev_hash, merkle_root, time, bits, nonce = zip(
            *_HEADER.iter_unpack(b"".join(page.header)), strict=True
        )
        for data, hashes in (
            (columns.hashes, page.hash),
            (columns.works, page.chainwork),
            (columns.merkle_roots, merkle_root),
            (self._prev_hashes, prev_hash),
        ):
            data[start * HASH_SIZE : end * HASH_SIZE] = b"".join(hashes)
        for column, values in (
            (columns.version, version),
            (columns.time, time),
            (columns.bits, bits),
            (columns.nonce, nonce),
            *((getattr(columns, name), getattr(page, name)) for name in _STORED),
        ):
            column[start:end] = array(column.typecode, values)
        self.taken = end

    def link(self) -> None:
        """Find parents, skip pointers and highest times, from genesis upwards.

        `path` holds the numbers of one chain by height, so that most parents and skip pointers need no search.
        """
        columns, hashes, prev_hashes = self._columns, self._columns.hashes, self._prev_hashes
        heights, times, prev, skip, time_max = (
            columns.height, columns.time, columns.prev, columns.skip, columns.time_max,
        )  # fmt: skip
        columns.fill_table(self.taken)
        path = array("i")
        last_hash = bytearray()
        for number in self._by_height():
            start = number * HASH_SIZE
            block_hash = hashes[start : start + HASH_SIZE]
            parent_hash = prev_hashes[start : start + HASH_SIZE]
            height = heights[number]
            if height == 0:
                parent = skip[number] = NO_NUMBER
                path = array("i", [number])
                last_hash = block_hash
            elif parent_hash == last_hash and height == len(path):
                parent = path[-1]
                skip[number] = path[skip_height(height)]
                path.append(number)
                last_hash = block_hash
            else:
                parent = self._parent(bytes(block_hash), bytes(parent_hash), height)
                skip[number] = columns.ancestor(parent, skip_height(height))
                if len(path) < height:
                    # Nothing was built on the path's end: go over to the branch that goes on.
                    self._lead(path, parent, height)
                    path.append(number)
                    last_hash = block_hash
            prev[number] = parent
            time = times[number]
            time_max[number] = time if parent < 0 or time > time_max[parent] else time_max[parent]

    def _by_height(self) -> "array[int]":
        """Return all numbers in the order of heights: sorted by counting, as objects would take more than columns."""
        heights = self._columns.height
        highest = max(heights)
        if highest >= self.taken:
            raise StorageError(f"the block index reaches height {highest} with {self.taken} blocks")
        places = array("i", bytes(4 * (highest + 2)))
        for height in heights:
            places[height + 1] += 1
        for height in range(highest):
            places[height + 1] += places[height]
        order = array("i", bytes(4 * self.taken))
        for number, height in enumerate(heights):
            order[places[height]] = number
            places[height] += 1
        return order

    def _parent(self, block_hash: bytes, parent_hash: bytes, height: int) -> int:
        parent = self._columns.find(parent_hash)
        if parent == NO_NUMBER or self._columns.height[parent] != height - 1:
            raise StorageError(f"block {hash_to_hex(block_hash)} is stored at height {height} without its parent")
        return parent

    def _lead(self, path: "array[int]", number: int, length: int) -> None:
        """Make `path` the `length` headers that end in `number`."""
        ending = array("i")
        while number >= 0 and (length > len(path) or path[length - 1] != number):
            ending.append(number)
            number, length = self._columns.prev[number], length - 1
        path[length:] = ending[::-1]

    def find_leaves(self) -> None:
        """Find the headers without children."""
        childless = bytearray(b"\1") * (self.taken + 1)
        for parent in self._columns.prev:
            # The parent of genesis is -1, the last place.
            childless[parent] = 0
        self._columns.leaves.update(compress(range(self.taken), childless))
