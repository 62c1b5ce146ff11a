"""The header tree in columns: a number for each header, an array for each of its properties.

Owns: the layout in memory (some 190 bytes a header), look-up by hash, ancestors. Never: objects per header, the meaning
of a status. Written by the chain thread alone. Any thread may read what it has a number of: elements are read in one
step and columns only grow.
"""

import struct
from array import array

from clarion.node.primitives.block import BlockHeader
from clarion.node.primitives.ids import BlockHash

NO_NUMBER = -1
"""Stands for the parent of genesis."""

HASH_SIZE = 32
MEDIAN_TIME_SPAN = 11

_SMALLEST_TABLE = 1024
_HASH = struct.Struct(f"{HASH_SIZE}s")


def skip_height(height: int) -> int:
    """Return the height that a header's skip pointer leads to; any lower number works, this one gives O(log n)."""
    if height < 2:
        return 0
    # `n & (n - 1)` clears the lowest bit that is set: once for even heights, twice for odd ones.
    if height & 1:
        below = (height - 1) & (height - 2)
        return (below & (below - 1)) + 1
    return height & (height - 1)


class HeaderColumns:
    """All headers, numbered from 0 in no order that means anything.

    `hashes`, `merkle_roots` and `works` hold 32 bytes a header, works in big-endian order, so that bytes compare as
    works do. `prev` and `skip` are numbers of headers.
    """

    def __init__(self) -> None:
        self.hashes = bytearray()
        self.merkle_roots = bytearray()
        self.works = bytearray()
        self.height = array("i")
        self.version = array("i")
        self.time = array("I")
        self.bits = array("I")
        self.nonce = array("I")
        self.prev = array("i")
        self.skip = array("i")
        self.time_max = array("I")
        self.status = array("H")
        self.tx_count = array("I")
        self.chain_tx_count = array("q")
        self.file = array("i")
        self.data_pos = array("q")
        self.data_size = array("I")
        self.undo_pos = array("q")
        self.undo_size = array("I")
        self.sequence_id = array("i")
        self.leaves: set[int] = set()
        """Headers without children."""
        self._table = array("I", bytes(4 * _SMALLEST_TABLE))

    def __len__(self) -> int:
        return len(self.height)

    def numbers(self) -> "tuple[array[int], ...]":
        """Return all columns of numbers: what a header has from the start, then what is known of its block."""
        return (
            self.height, self.version, self.time, self.bits, self.nonce, self.prev, self.skip, self.time_max,
            self.status, self.sequence_id, self.tx_count, self.chain_tx_count,
            self.file, self.data_pos, self.data_size, self.undo_pos, self.undo_size,
        )  # fmt: skip

    # --- values in bytes --------------------------------------------------------------------------------------------

    def hash_of(self, number: int) -> BlockHash:
        """Return a header's hash, internal order."""
        return BlockHash(bytes(self.hashes[number * HASH_SIZE : (number + 1) * HASH_SIZE]))

    def merkle_root_of(self, number: int) -> bytes:
        """Return a header's merkle root, internal order."""
        return bytes(self.merkle_roots[number * HASH_SIZE : (number + 1) * HASH_SIZE])

    def work_of(self, number: int) -> int:
        """Return the work of a header and all its ancestors, in hashes."""
        return int.from_bytes(self.works[number * HASH_SIZE : (number + 1) * HASH_SIZE], "big")

    # --- look-up by hash --------------------------------------------------------------------------------------------
    # A table of numbers plus one, open addressing: a dict with its keys and values would take more than all columns.
    # The interpreter's hash is keyed anew in each process, so nobody can choose hashes that collide.

    def find(self, block_hash: bytes) -> int:
        """Return the number of a header, NO_NUMBER if it is unknown."""
        table, hashes = self._table, self.hashes
        mask = len(table) - 1
        slot = hash(block_hash) & mask
        while found := table[slot]:
            if hashes[(found - 1) * HASH_SIZE : found * HASH_SIZE] == block_hash:
                return found - 1
            slot = (slot + 1) & mask
        return NO_NUMBER

    def fill_table(self, count: int) -> None:
        """Let `find` know all headers, with room for `count`."""
        size = _SMALLEST_TABLE
        while count * 3 > size * 2:
            size *= 2
        table, mask = array("I", bytes(4 * size)), size - 1
        for number, (block_hash,) in enumerate(_HASH.iter_unpack(self.hashes), 1):
            slot = hash(block_hash) & mask
            while table[slot]:
                slot = (slot + 1) & mask
            table[slot] = number
        self._table = table

    def _enter(self, block_hash: bytes, number: int) -> None:
        table = self._table
        mask = len(table) - 1
        slot = hash(block_hash) & mask
        while table[slot]:
            slot = (slot + 1) & mask
        table[slot] = number + 1

    # --- the tree ---------------------------------------------------------------------------------------------------

    def ancestor(self, number: int, height: int) -> int:
        """Return the ancestor of `number` (or itself) at `height`, NO_NUMBER outside 0 to its own height."""
        at = self.height[number]
        if not 0 <= height <= at:
            return NO_NUMBER
        prev, skip = self.prev, self.skip
        while at != height:
            to = skip_height(at)
            if to > height:
                # Only follow the pointer where going back by one would not lead to a better one.
                to_prev = skip_height(at - 1)
                follow = not (to_prev < to - 2 and to_prev >= height)
            else:
                follow = to == height
            if follow:
                number, at = skip[number], to
            else:
                number, at = prev[number], at - 1
        return number

    def median_time_past(self, number: int, *later: int) -> int:
        """Return the median of eleven times: those of `later` headers, of this one and of its ancestors (BIP113)."""
        time, prev = self.time, self.prev
        times = list(later)
        while number >= 0 and len(times) < MEDIAN_TIME_SPAN:
            times.append(time[number])
            number = prev[number]
        times.sort()
        return times[len(times) // 2]

    def append(self, header: BlockHeader, proof: int, status: int, sequence_id: int) -> int:
        """Insert a header and return its number. `proof` is its own work. It becomes a root if its parent is unknown."""
        number, parent = len(self), self.find(header.prev_hash)
        height, work, time_max = 0, proof, header.time
        skip = NO_NUMBER
        if parent >= 0:
            height = self.height[parent] + 1
            work += self.work_of(parent)
            time_max = max(self.time_max[parent], time_max)
            skip = self.ancestor(parent, skip_height(height))
        self.hashes += header.hash
        self.merkle_roots += header.merkle_root
        self.works += work.to_bytes(HASH_SIZE, "big")
        known = (height, header.version, header.time, header.bits, header.nonce, parent, skip, time_max, status)
        nothing = (0,) * 7
        for column, value in zip(self.numbers(), (*known, sequence_id, *nothing), strict=True):
            column.append(value)
        self.leaves.discard(parent)
        self.leaves.add(number)
        if len(self) * 3 > len(self._table) * 2:
            self.fill_table(2 * len(self))
        else:
            self._enter(header.hash, number)
        return number
