"""The active chain: entries by height.

Owns: the list from genesis to the tip. Never: deciding what the tip is.
"""

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.primitives.ids import BlockHash


class ChainView:
    """The chain that ends in `tip`, as any thread may see it: entries never change their ancestors."""

    def __init__(self, tip: BlockIndexEntry) -> None:
        self.tip = tip

    def __contains__(self, entry: object) -> bool:
        return isinstance(entry, BlockIndexEntry) and self.tip.ancestor(entry.height) is entry

    def find_fork(self, entry: BlockIndexEntry) -> BlockIndexEntry:
        """Return the last block of this chain that `entry` descends from (itself if it is on the chain)."""
        at: BlockIndexEntry | None = entry.ancestor(self.tip.height) if entry.height > self.tip.height else entry
        while at is not None and at not in self:
            at = at.prev
        assert at is not None, "all chains share genesis"
        return at


class ActiveChain:
    """The chain that the coins stand for. Written by the chain thread alone, under the chain lock."""

    def __init__(self) -> None:
        self._entries: list[BlockIndexEntry] = []

    @property
    def height(self) -> int:
        """Height of the tip, -1 for an empty chain."""
        return len(self._entries) - 1

    @property
    def tip(self) -> BlockIndexEntry:
        """The last block. There always is one once the node has started."""
        return self._entries[-1]

    def at(self, height: int) -> BlockIndexEntry | None:
        """Return the block at `height`, None outside the chain."""
        return self._entries[height] if 0 <= height < len(self._entries) else None

    def __contains__(self, entry: object) -> bool:
        return (
            isinstance(entry, BlockIndexEntry)
            and entry.height < len(self._entries)
            and self._entries[entry.height] is entry
        )

    def next(self, entry: BlockIndexEntry) -> BlockIndexEntry | None:
        """Return the block on top of `entry`, None for the tip and for blocks off the chain."""
        return self.at(entry.height + 1) if entry in self else None

    def find_fork(self, entry: BlockIndexEntry) -> BlockIndexEntry | None:
        """Return the last block of this chain that `entry` descends from (itself if it is on the chain)."""
        at = entry.ancestor(self.height) if entry.height > self.height else entry
        while at is not None and at not in self:
            at = at.prev
        return at

    def append(self, entry: BlockIndexEntry) -> None:
        """Make `entry`, a child of the tip, the tip."""
        assert entry.height == len(self._entries)
        self._entries.append(entry)

    def pop(self) -> BlockIndexEntry:
        """Take the tip off and return it."""
        return self._entries.pop()

    def hashes_above(self, height: int) -> list[tuple[int, BlockHash]]:
        """Return (height, hash) of every block above `height`, upward."""
        return [(entry.height, entry.hash) for entry in self._entries[height + 1 :]]

    def locator(self) -> list[BlockHash]:
        """Return hashes from the tip back to genesis, ever further apart after the eleventh."""
        found = []
        height, step = self.height, 1
        while True:
            found.append(self._entries[height].hash)
            if height == 0:
                return found
            height = max(height - step, 0)
            if len(found) > 10:
                step *= 2
