"""What the rules need to know of a block's place in the header tree.

Owns: the protocol that the chain's block index satisfies. Never: an implementation.
"""

from typing import Protocol

from clarion.node.primitives.ids import BlockHash


class ChainPosition(Protocol):
    """A header with its ancestors. `time` and `bits` are uint32, `version` is int32, `hash` is in internal order."""

    @property
    def hash(self) -> BlockHash: ...
    @property
    def height(self) -> int: ...
    @property
    def version(self) -> int: ...
    @property
    def time(self) -> int: ...
    @property
    def bits(self) -> int: ...
    @property
    def prev(self) -> "ChainPosition | None": ...

    def ancestor(self, height: int) -> "ChainPosition | None":
        """Return the ancestor (or itself) at `height`, None outside 0 to its own height."""
        ...

    def median_time_past(self) -> int:
        """Return the median of the times of this block and its ten ancestors."""
        ...
