"""What the chain tells the memory pool, which it knows by this protocol only.

Owns: the moments of the reference's order. Never: what the pool does then.
"""

from typing import Protocol

from clarion.node.primitives.block import Block


class PoolLink(Protocol):
    """Hears of blocks as they are connected and disconnected, on the chain thread and without the chain lock."""

    @property
    def idle(self) -> bool:
        """Whether blocks mean nothing to the pool now: it is empty and remembers no transaction."""
        ...

    def block_connected(self, block: Block, height: int) -> None:
        """A block whose scripts have passed is part of the active chain; nothing of it may be taken back any more."""
        ...

    def block_disconnected(self, block: Block) -> None:
        """The coins are as they were before the block, which is still the tip."""
        ...

    def reorganised(self, *, readmit: bool) -> None:
        """The active chain and the coins are where this step leads, after blocks were disconnected.

        `readmit`: their transactions may come back; else all that depends on them goes.
        """
        ...

    def check(self) -> None:
        """A step is over: look whether the pool is consistent, if the operator wants that."""
        ...

    def release(self) -> None:
        """What the blocks did is committed: others may see the pool again, which then fits the tip that they are told."""
        ...

    def catch_up(self) -> None:
        """The chain has nothing to do: this is the moment for work that nobody waits for."""
        ...


class NoPool:
    """The pool of a chain without one."""

    idle = True

    def block_connected(self, block: Block, height: int) -> None:
        """Do nothing."""

    def block_disconnected(self, block: Block) -> None:
        """Do nothing."""

    def reorganised(self, *, readmit: bool) -> None:
        """Do nothing."""

    def check(self) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""

    def catch_up(self) -> None:
        """Do nothing."""
