"""Sets of positions within a cluster, as bits of an integer: at most 64, so they cost little."""

from collections.abc import Iterator


def positions(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
