"""Fee rate buckets, and what an estimate tells about them.

Owns: the spacing of the buckets and the records of a result. Never: counting.
"""

import math
from dataclasses import dataclass, field

_MIN_FEERATE = 100.0
_MAX_FEERATE = 1e7
_SPACING = 1.05
_INFINITE_FEERATE = 1e99
"""Upper bound of the last bucket; large enough, and it can be written to a file."""


def default_buckets() -> list[float]:
    """Return the upper bounds (inclusive) of the buckets in satoshis per kvB, lowest first."""
    bounds = []
    bound = _MIN_FEERATE
    while bound <= _MAX_FEERATE:
        bounds.append(bound)
        bound *= _SPACING
    return [*bounds, _INFINITE_FEERATE]


def round_half_away(value: float) -> int:
    """Return the nearest whole number, the one farther from zero of two that are equally near."""
    whole = math.floor(abs(value))
    rounded = whole + (abs(value) - whole >= 0.5)
    return -rounded if value < 0 else rounded


@dataclass(slots=True)
class BucketRange:
    """A range of buckets in satoshis per kvB (-1: there is none) and its transactions, as decayed averages.

    `within_target` were mined in time, `total_confirmed` at any time, `in_mempool` have been waiting for longer than
    the target, `left_mempool` were removed after the target without being mined.
    """

    start: float = -1
    end: float = -1
    within_target: float = 0
    total_confirmed: float = 0
    in_mempool: int = 0
    left_mempool: float = 0


@dataclass(slots=True)
class EstimationResult:
    """How an estimate came about: the lowest range that passed, the highest that failed below it."""

    decay: float
    scale: int
    passed: BucketRange = field(default_factory=BucketRange)
    failed: BucketRange = field(default_factory=BucketRange)
