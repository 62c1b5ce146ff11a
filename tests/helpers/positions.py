"""A chain of bare headers that satisfies the rules' view of a chain, for tests of pure rules.

Owns: `Position`. Never: blocks, proof of work.
"""

from clarion.node.primitives.ids import BlockHash

MEDIAN_TIME_SPAN = 11


class Position:
    """A header with its ancestors; the parent's list of ancestors is shared, so a chain grows in one line."""

    def __init__(
        self,
        prev: "Position | None" = None,
        *,
        time: int = 1_600_000_000,
        bits: int = 0x1D00FFFF,
        version: int = 0x20000000,
        block_hash: bytes | None = None,
        height: int | None = None,
    ) -> None:
        self.prev = prev
        self.height: int = height if height is not None else (prev.height + 1 if prev else 0)
        self.time, self.bits, self.version = time, bits, version
        # Any bytes that differ between positions do for a hash.
        self.hash = BlockHash(block_hash or id(self).to_bytes(32, "little"))

    def ancestor(self, height: int) -> "Position | None":
        if not 0 <= height <= self.height:
            return None
        at: Position | None = self
        while at is not None and at.height != height:
            at = at.prev
        return at

    def median_time_past(self) -> int:
        times: list[int] = []
        at: Position | None = self
        while at is not None and len(times) < MEDIAN_TIME_SPAN:
            times.append(at.time)
            at = at.prev
        return sorted(times)[len(times) // 2]


def chain(
    count: int,
    prev: Position | None = None,
    *,
    spacing: int = 600,
    time: int = 1_600_000_000,
    bits: int = 0x1D00FFFF,
    version: int = 0x20000000,
) -> Position:
    """Return the last of `count` positions on top of `prev`, `spacing` seconds apart."""
    for _ in range(count):
        time = prev.time + spacing if prev else time
        prev = Position(prev, time=time, bits=bits, version=version)
    assert prev is not None
    return prev
