"""A block's place in the header tree as a snapshot of the database has it, for the rules of deployments.

Owns: the look-ups behind `ChainPosition`. Never: the rules. It holds as long as its snapshot.
"""

from clarion.node.consensus.position import ChainPosition
from clarion.node.primitives.block import BlockHeader
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.chain_reader import ChainSnapshot
from clarion.node.storage.rows import BlockRow


class StoredPosition:
    """The block of `row`, on any branch; its ancestors are read as they are asked for."""

    def __init__(self, snapshot: ChainSnapshot, row: BlockRow) -> None:
        self._snapshot = snapshot
        self._row = row
        self._header = BlockHeader.parse(row.header)

    @property
    def hash(self) -> BlockHash:
        """Its hash, internal order."""
        return self._row.hash

    @property
    def height(self) -> int:
        """Its height."""
        return self._row.height

    @property
    def version(self) -> int:
        """The header's version, int32."""
        return self._header.version

    @property
    def time(self) -> int:
        """The header's time in Unix seconds."""
        return self._header.time

    @property
    def bits(self) -> int:
        """The header's target in its compact form."""
        return self._header.bits

    @property
    def prev(self) -> ChainPosition | None:
        """The block before, None for genesis."""
        return self.ancestor(self._row.height - 1)

    def ancestor(self, height: int) -> ChainPosition | None:
        """Return the ancestor (or itself) at `height`, None outside 0 to its own height."""
        if 0 <= height <= self._row.height and self._snapshot.is_active(self._row):
            row = self._snapshot.block_at(height)
        else:
            row = self._snapshot.ancestor(self._row, height)
        return None if row is None else StoredPosition(self._snapshot, row)

    def median_time_past(self) -> int:
        """Return the median of the times of this block and its ten ancestors."""
        return self._snapshot.median_time_past(self._row)
