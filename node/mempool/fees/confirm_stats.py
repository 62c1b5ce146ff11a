"""Statistics of one horizon: how many transactions of each bucket were mined within how many blocks.

Owns: the decaying averages, the counts of waiting transactions, and the estimate for a target. Never: which
transactions count. All numbers equal the reference's to the last bit: sums are made in its order.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate

from clarion.node.mempool.fees.buckets import BucketRange, EstimationResult

_UINT32 = 0xFFFFFFFF


@dataclass(slots=True)
class Mined:
    """What a block says about one bucket: its transactions by how many blocks they waited, their rates in order."""

    waits: dict[int, int]
    feerates: list[int]


class ConfirmStats:
    """One horizon: `periods` of `scale` blocks each, averages that shrink by `decay` with every block.

    `confirmed[bucket][period]` counts transactions that were mined within so many periods, `failed[bucket][period]`
    those that left the pool after waiting that long, `total[bucket]` all mined ones and `feerate_sum[bucket]` their
    rates. The counts of waiting transactions are not kept over a restart.
    """

    def __init__(self, bucket_count: int, periods: int, decay: float, scale: int) -> None:
        self.decay = decay
        self.scale = scale
        self.periods = periods
        self.total = [0.0] * bucket_count
        self.feerate_sum = [0.0] * bucket_count
        self.confirmed = [[0.0] * periods for _ in range(bucket_count)]
        self.failed = [[0.0] * periods for _ in range(bucket_count)]
        # By height modulo their number, then by bucket; what is older is in the other list.
        self._waiting = [[0] * bucket_count for _ in range(self.max_confirms)]
        self._waiting_longer = [0] * bucket_count

    @property
    def max_confirms(self) -> int:
        """The highest target in blocks that this horizon can say something about."""
        return self.scale * self.periods

    def start_block(self, height: int) -> None:
        """Let a block's height take the place of the oldest one, and shrink all averages."""
        oldest = self._waiting[height % len(self._waiting)]
        self._waiting_longer = list(map(operator.add, self._waiting_longer, oldest))
        self._waiting[height % len(self._waiting)] = [0] * len(oldest)
        decay = self.decay
        self.confirmed = [[value * decay for value in row] for row in self.confirmed]
        self.failed = [[value * decay for value in row] for row in self.failed]
        self.feerate_sum = [value * decay for value in self.feerate_sum]
        self.total = [value * decay for value in self.total]

    def add_waiting(self, height: int, bucket: int) -> None:
        """Count a transaction that entered the pool at `height`."""
        self._waiting[height % len(self._waiting)][bucket] += 1

    def remove_waiting(self, height: int, bucket: int, blocks_ago: int, count: int = 1) -> None:
        """Forget transactions that entered at `height`, which is `blocks_ago` blocks ago."""
        longer = blocks_ago >= len(self._waiting)
        counts = self._waiting_longer if longer else self._waiting[height % len(self._waiting)]
        counts[bucket] = max(0, counts[bucket] - count)

    def record_failure(self, bucket: int, blocks_ago: int) -> None:
        """Count a transaction that left the pool unmined; only full periods count."""
        row = self.failed[bucket]
        for period in range(min(blocks_ago // self.scale, self.periods)):
            row[period] += 1

    def record_mined(self, mined: Mapping[int, Mined]) -> None:
        """Count a block's transactions, by bucket."""
        scale, periods = self.scale, self.periods
        for bucket, each in mined.items():
            counts = [0] * periods
            for blocks, count in each.waits.items():
                period = (blocks + scale - 1) // scale
                if period <= periods:
                    counts[period - 1] += count
            row = self.confirmed[bucket]
            self.confirmed[bucket] = list(map(_plus_ones, row, accumulate(counts)))
            self.total[bucket] = _plus_ones(self.total[bucket], len(each.feerates))
            self.feerate_sum[bucket] = reduce(operator.add, each.feerates, self.feerate_sum[bucket])

    def estimate(
        self, buckets: Sequence[float], target: int, sufficient: float, min_success: float, best_height: int
    ) -> tuple[float, EstimationResult]:
        """Return (satoshis per kvB or -1, how it came about) of the lowest buckets that are mined within `target`.

        `sufficient` is how many transactions a block a range of buckets must have had, `min_success` the share of them
        that must have been mined in time.
        """
        result = EstimationResult(self.decay, self.scale)
        best = self._walk(buckets, target, sufficient, min_success, best_height, result)
        return (-1.0 if best is None else self._median(*best)), result

    def _walk(
        self,
        buckets: Sequence[float],
        target: int,
        sufficient: float,
        min_success: float,
        best_height: int,
        result: EstimationResult,
    ) -> tuple[int, int] | None:
        """Return the first and last bucket of the lowest range that passes, None if none does; fill `result` in."""
        period = (target + self.scale - 1) // self.scale - 1
        waiting = self._waiting_for(target, best_height)
        needed = sufficient / (1 - self.decay)
        best: tuple[int, int] | None = None
        # From the highest rate down, buckets are taken together until they hold enough transactions. A range that
        # fails is not given up: together with the next ones it may pass.
        current = BucketRange()
        partial = 0.0
        top = len(buckets) - 1
        passing, fresh = True, True
        for bucket in range(len(buckets) - 1, -1, -1):
            if fresh:
                top, current, fresh = bucket, BucketRange(), False
            current.within_target += self.confirmed[bucket][period]
            partial += self.total[bucket]
            current.total_confirmed += self.total[bucket]
            current.left_mempool += self.failed[bucket][period]
            current.in_mempool += waiting[bucket]
            if partial < needed:
                continue
            partial = 0.0
            share = current.within_target / (current.total_confirmed + current.left_mempool + current.in_mempool)
            if share >= min_success:
                best = bucket, top
                result.passed, result.failed = _bounded(current, buckets, *best), BucketRange()
                passing = fresh = True
            elif passing:
                result.failed = _bounded(current, buckets, bucket, top)
                passing = False
        if passing and not fresh:
            # What is left at the lower end holds too little to tell.
            result.failed = _bounded(current, buckets, 0, top)
        return best

    def _waiting_for(self, target: int, best_height: int) -> list[int]:
        """Return for each bucket how many transactions have been waiting for `target` blocks or longer."""
        # The reference subtracts unsigned numbers, so a short chain's heights wrap around.
        rows = [
            self._waiting[((best_height - blocks) & _UINT32) % len(self._waiting)]
            for blocks in range(target, self.max_confirms)
        ]
        return [sum(column) for column in zip(self._waiting_longer, *rows, strict=True)]

    def _median(self, first: int, last: int) -> float:
        """Return the average rate of the bucket with the middle transaction of the range."""
        counts = self.total[first : last + 1]
        left = reduce(operator.add, counts, 0.0) / 2
        if left == 0:
            return -1.0
        for bucket, count in enumerate(counts, first):
            if count >= left:
                return self.feerate_sum[bucket] / count
            left -= count
        return -1.0


def _bounded(counts: BucketRange, buckets: Sequence[float], first: int, last: int) -> BucketRange:
    start = buckets[first - 1] if first else 0.0
    return BucketRange(
        start,
        buckets[last],
        counts.within_target,
        counts.total_confirmed,
        counts.in_mempool,
        counts.left_mempool,
    )


def _plus_ones(value: float, count: int) -> float:
    """Return what adding 1 so many times gives, which differs from adding `count` once only by rounding.

    While the sum stays below twice the value it is rounded once at most, in the same place either way.
    """
    total = value + count
    if total < value + value or not value:
        return total
    for _ in range(count):
        value += 1.0
    return value
