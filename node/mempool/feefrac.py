"""Fee and size together: a feerate that is compared exactly, and diagrams of feerates.

Owns: FeeFrac and the orders that the reference knows for it. Never: rounding, units of size (weight or virtual bytes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_RATIO_BITS = 62
"""Two ratios with sizes below 2**31 differ by more than 2**-62, so scaled integers tell them apart."""


@dataclass(frozen=True, slots=True)
class FeeFrac:
    """A fee in satoshis and the size that it pays for.

    Equal if both parts are; `<` is not defined on purpose, for 1/2 and 2/4 are the same rate: say which order is meant.
    """

    fee: int = 0
    size: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is no size, and so no rate."""
        return self.size == 0

    def __add__(self, other: FeeFrac) -> FeeFrac:
        return FeeFrac(self.fee + other.fee, self.size + other.size)

    def __sub__(self, other: FeeFrac) -> FeeFrac:
        return FeeFrac(self.fee - other.fee, self.size - other.size)

    def evaluate_fee_down(self, at_size: int) -> int:
        """Return the fee for `at_size` at this rate, rounded towards minus infinity. The size must be positive."""
        return self.fee * at_size // self.size

    def evaluate_fee_up(self, at_size: int) -> int:
        """Return the fee for `at_size` at this rate, rounded towards infinity. The size must be positive."""
        return -(-self.fee * at_size // self.size)


def scaled_ratio(fee: int, size: int) -> int:
    """Return an integer that orders rates exactly: equal for equal rates, greater for greater ones.

    The size must be positive and below 2**31.
    """
    return (fee << _RATIO_BITS) // size


def compare_ratio(left: FeeFrac, right: FeeFrac) -> int:
    """Return -1, 0 or 1 as the rate of `left` is lower than, equal to or higher than that of `right`."""
    cross_left = left.fee * right.size
    cross_right = right.fee * left.size
    return (cross_left > cross_right) - (cross_left < cross_right)


def compare_ratio_then_smaller(left: FeeFrac, right: FeeFrac) -> int:
    """Return -1, 0 or 1 by rate; of equal rates the one with the greater size is the lower."""
    return compare_ratio(left, right) or (left.size < right.size) - (left.size > right.size)


def compare_chunks(left: Sequence[FeeFrac], right: Sequence[FeeFrac]) -> int | None:
    """Compare two feerate diagrams, each given by its chunks in falling order of rate.

    Return 1 if `left` is nowhere below `right` and above it somewhere, -1 the other way round, 0 if they coincide, None if
    each is above the other somewhere. A diagram goes on to the right of its end at the same height. It is compared at the
    corners of both.
    """
    corners_left, corners_right = _corners(left), _corners(right)
    signs = _sides(corners_left, corners_right) | {-sign for sign in _sides(corners_right, corners_left)}
    if 1 in signs and -1 in signs:
        return None
    return (1 in signs) - (-1 in signs)


def _corners(chunks: Sequence[FeeFrac]) -> list[tuple[int, int]]:
    """Return the corners of a diagram as (size, fee), beginning with the origin."""
    size = fee = 0
    corners = [(0, 0)]
    for chunk in chunks:
        size += chunk.size
        fee += chunk.fee
        corners.append((size, fee))
    return corners


def _sides(corners: list[tuple[int, int]], diagram: list[tuple[int, int]]) -> set[int]:
    """Return on which sides of `diagram` the corners lie: 1 above, -1 below, 0 on it."""
    signs = set()
    at = 0
    for size, fee in corners:
        while at < len(diagram) and diagram[at][0] < size:
            at += 1
        if at == len(diagram):
            gain = fee - diagram[-1][1]
        else:
            end_size, end_fee = diagram[at]
            start_size, start_fee = diagram[at - 1] if at else (end_size - 1, end_fee)
            gain = (fee - start_fee) * (end_size - start_size) - (end_fee - start_fee) * (size - start_size)
        signs.add((gain > 0) - (gain < 0))
    return signs
