"""The active chain: headers by height.

Owns: the list from genesis to the tip. Never: deciding what the tip is.
"""

from array import array
from collections.abc import Iterable

from clarion.node.chain.block_index import BlockIndex, BlockIndexEntry
from clarion.node.chain.header_columns import HASH_SIZE, NO_NUMBER
from clarion.node.errors import StorageError
from clarion.node.primitives.ids import BlockHash, hash_to_hex

_STEP = 10_000


class ChainView:
    """The chain that ends in `tip`, as any thread may see it: entries never change their ancestors."""

    def __init__(self, tip: BlockIndexEntry) -> None:
        self.tip = tip

    def __contains__(self, entry: object) -> bool:
        return isinstance(entry, BlockIndexEntry) and self.tip.descends_from(entry)

    def find_fork(self, entry: BlockIndexEntry) -> BlockIndexEntry:
        """Return the last block of this chain that `entry` descends from (itself if it is on the chain)."""
        at: BlockIndexEntry | None = entry.ancestor(self.tip.height) if entry.height > self.tip.height else entry
        while at is not None and at not in self:
            at = at.prev
        assert at is not None, "all chains share genesis"
        return at


class ActiveChain:
    """The chain that the coins stand for. Written by the chain thread alone, under the chain lock."""

    def __init__(self, index: BlockIndex) -> None:
        self._index = index
        self._numbers = array("i")
        self._tip: BlockIndexEntry | None = None

    @property
    def height(self) -> int:
        """Height of the tip, -1 for an empty chain."""
        return len(self._numbers) - 1

    @property
    def tip(self) -> BlockIndexEntry:
        """The last block. There always is one once the node has started."""
        assert self._tip is not None, "the chain is empty"
        return self._tip

    def at(self, height: int) -> BlockIndexEntry | None:
        """Return the block at `height`, None outside the chain."""
        return self._index.entry(self._numbers[height]) if 0 <= height < len(self._numbers) else None

    def __contains__(self, entry: object) -> bool:
        return (
            isinstance(entry, BlockIndexEntry)
            and entry.columns is self._index.columns
            and self._holds(entry.number, entry.height)
        )

    def _holds(self, number: int, height: int) -> bool:
        return height < len(self._numbers) and self._numbers[height] == number

    def next(self, entry: BlockIndexEntry) -> BlockIndexEntry | None:
        """Return the block on top of `entry`, None for the tip and for blocks off the chain."""
        return self.at(entry.height + 1) if entry in self else None

    def find_fork(self, entry: BlockIndexEntry) -> BlockIndexEntry | None:
        """Return the last block of this chain that `entry` descends from (itself if it is on the chain)."""
        columns = self._index.columns
        height = min(entry.height, self.height)
        number = columns.ancestor(entry.number, height)
        while number != NO_NUMBER and not self._holds(number, height):
            number, height = columns.prev[number], height - 1
        return self._index.entry_or_none(number)

    def append(self, entry: BlockIndexEntry) -> None:
        """Make `entry`, a child of the tip, the tip."""
        assert entry.height == len(self._numbers)
        self._numbers.append(entry.number)
        self._tip = entry

    def pop(self) -> BlockIndexEntry:
        """Take the tip off and return it."""
        tip = self.tip
        self._numbers.pop()
        self._tip = self.at(self.height)
        return tip

    def lead_to(self, entry: BlockIndexEntry) -> None:
        """Make `entry` the tip and its ancestors the chain, whatever was there before, in one go."""
        columns, path = self._index.columns, array("i")
        number, height = entry.number, entry.height
        while number != NO_NUMBER and not self._holds(number, height):
            path.append(number)
            number, height = columns.prev[number], height - 1
        path.reverse()
        self._numbers[height + 1 :] = path
        self._tip = entry

    def load(self, pages: Iterable[bytes], sequence_id: int) -> None:
        """Fill the empty chain with the blocks of these hashes, genesis first, and give them all this sequence id.

        Raises StorageError unless they are the path to the last one, which must be in the index.
        """
        assert not self._numbers
        columns, hashes = self._index.columns, bytearray()
        for page in pages:
            hashes += page
        count = len(hashes) // HASH_SIZE
        if not count:
            return
        tip_hash = bytes(hashes[-HASH_SIZE:])
        number = tip = columns.find(tip_hash)
        if tip == NO_NUMBER or columns.height[tip] != count - 1:
            raise StorageError(f"the active chain ends in block {hash_to_hex(tip_hash)}, which is not stored there")
        numbers = self._numbers
        numbers.frombytes(bytes(count * numbers.itemsize))
        for height in range(count - 1, -1, -1):
            numbers[height] = number
            columns.sequence_id[number] = sequence_id
            number = columns.prev[number]
        for start in range(0, count, _STEP):
            step = b"".join(map(columns.hash_of, numbers[start : start + _STEP]))
            if hashes[start * HASH_SIZE : (start + _STEP) * HASH_SIZE] != step:
                raise StorageError(f"the active chain leaves the path to its tip behind height {start}")
        self._tip = self._index.entry(tip)

    def hashes_between(self, below: int, top: int) -> list[tuple[int, BlockHash]]:
        """Return (height, hash) of every block above height `below`, upward to height `top`."""
        hash_of = self._index.columns.hash_of
        return [(at, hash_of(self._numbers[at])) for at in range(below + 1, top + 1)]

    def locator(self) -> list[BlockHash]:
        """Return hashes from the tip back to genesis, ever further apart after the eleventh."""
        found = []
        height, step = self.height, 1
        while True:
            found.append(self._index.columns.hash_of(self._numbers[height]))
            if height == 0:
                return found
            height = max(height - step, 0)
            if len(found) > 10:
                step *= 2
