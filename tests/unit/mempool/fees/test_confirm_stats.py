"""One horizon's statistics, against a plain model that counts one by one."""

import random
from collections import defaultdict

import pytest

from clarion.node.mempool.fees.buckets import default_buckets, round_half_away
from clarion.node.mempool.fees.confirm_stats import ConfirmStats, Mined

BUCKETS = [100.0, 200.0, 400.0, 1e99]


class PlainStats:
    """Adds every transaction by itself, as the reference does."""

    def __init__(self, periods: int, decay: float, scale: int) -> None:
        self.decay, self.scale = decay, scale
        self.confirmed = [[0.0] * periods for _ in BUCKETS]
        self.total = [0.0] * len(BUCKETS)
        self.feerate_sum = [0.0] * len(BUCKETS)

    def block(self, txs: list[tuple[int, int, int]]) -> None:
        """Shrink everything, then add transactions (bucket, blocks waited, rate)."""
        self.confirmed = [[value * self.decay for value in row] for row in self.confirmed]
        self.total = [value * self.decay for value in self.total]
        self.feerate_sum = [value * self.decay for value in self.feerate_sum]
        for bucket, blocks, feerate in txs:
            row = self.confirmed[bucket]
            for period in range((blocks + self.scale - 1) // self.scale - 1, len(row)):
                row[period] += 1
            self.total[bucket] += 1
            self.feerate_sum[bucket] += feerate


def test_buckets_of_the_reference() -> None:
    buckets = default_buckets()
    assert len(buckets) == 237
    assert buckets[:2] == [100.0, 105.0]
    assert buckets[-2] == pytest.approx(100 * 1.05**235)
    assert buckets[-2] <= 1e7 < buckets[-2] * 1.05
    assert buckets[-1] == 1e99


@pytest.mark.parametrize(("value", "rounded"), [(0.5, 1), (1.5, 2), (2.5, 3), (-0.5, -1), (0.49999999999999994, 0)])
def test_halves_are_rounded_away_from_zero(value: float, rounded: int) -> None:
    assert round_half_away(value) == rounded


@pytest.mark.parametrize("seed", range(8))
def test_sums_equal_one_by_one_counting_to_the_last_bit(seed: int) -> None:
    source = random.Random(seed)
    periods, decay, scale = source.choice([(12, 0.962, 1), (24, 0.9952, 2), (5, 0.3, 3)])
    stats, plain = ConfirmStats(len(BUCKETS), periods, decay, scale), PlainStats(periods, decay, scale)
    for height in range(1, 60):
        count = source.choice([0, 1, 3, 50, 700])
        txs = [(source.randrange(4), source.randint(1, 30), source.randint(1, 10**6)) for _ in range(count)]
        mined: dict[int, Mined] = defaultdict(lambda: Mined({}, []))
        for bucket, blocks, feerate in txs:
            mined[bucket].waits[blocks] = mined[bucket].waits.get(blocks, 0) + 1
            mined[bucket].feerates.append(feerate)
        stats.start_block(height)
        stats.record_mined(mined)
        plain.block(txs)
    assert stats.confirmed == plain.confirmed
    assert (stats.total, stats.feerate_sum) == (plain.total, plain.feerate_sum)


def test_waiting_transactions_grow_old() -> None:
    stats = ConfirmStats(len(BUCKETS), 3, 0.9, 1)
    stats.add_waiting(7, 1)
    stats.add_waiting(8, 1)
    assert stats._waiting_for(1, 8) == [0, 1, 0, 0]
    for height in (9, 10):
        stats.start_block(height)
    assert stats._waiting_for(3, 10) == [0, 1, 0, 0]
    stats.remove_waiting(7, 1, 3)
    assert stats._waiting_for(1, 10) == [0, 1, 0, 0]
    stats.remove_waiting(8, 1, 2)
    assert stats._waiting_for(1, 10) == [0, 0, 0, 0]


@pytest.mark.parametrize(("blocks_ago", "failed"), [(1, [0, 0, 0]), (2, [1, 0, 0]), (5, [1, 1, 0]), (99, [1, 1, 1])])
def test_failures_count_full_periods(blocks_ago: int, failed: list[int]) -> None:
    stats = ConfirmStats(len(BUCKETS), 3, 0.9, 2)
    stats.record_failure(2, blocks_ago)
    assert stats.failed[2] == failed


def block_of(stats: ConfirmStats, height: int, *txs: tuple[int, int, int, int]) -> None:
    """Mine (bucket, blocks waited, rate, how many)."""
    stats.start_block(height)
    stats.record_mined({bucket: Mined({blocks: count}, [rate] * count) for bucket, blocks, rate, count in txs})


def test_ranges_grow_until_they_hold_enough() -> None:
    stats = ConfirmStats(len(BUCKETS), 3, 0.5, 1)
    block_of(stats, 1, (2, 1, 300, 2), (1, 1, 150, 3), (0, 3, 90, 8))
    # Four transactions are enough: buckets 2 and 1 together pass, bucket 0 alone does not within two blocks.
    median, result = stats.estimate(BUCKETS, 2, 2.0, 0.8, 1)
    assert median == 150
    assert (result.passed.start, result.passed.end) == (100, 1e99)
    assert (result.passed.within_target, result.passed.total_confirmed) == (5, 5)
    assert (result.failed.start, result.failed.end, result.failed.total_confirmed) == (0, 100, 8)
    assert (result.decay, result.scale) == (0.5, 1)


def test_too_few_transactions_fail() -> None:
    stats = ConfirmStats(len(BUCKETS), 3, 0.5, 1)
    block_of(stats, 1, (2, 1, 300, 2))
    median, result = stats.estimate(BUCKETS, 2, 2.0, 0.8, 1)
    assert median == -1
    assert result.passed.start == -1
    assert (result.failed.start, result.failed.end, result.failed.total_confirmed) == (0, 1e99, 2)


def test_waiting_and_failed_transactions_lower_the_share() -> None:
    stats = ConfirmStats(len(BUCKETS), 3, 0.5, 1)
    block_of(stats, 7, (2, 1, 300, 8))
    assert stats.estimate(BUCKETS, 1, 2.0, 0.8, 7)[0] == 300
    stats.record_failure(2, 1)
    stats.add_waiting(6, 2)
    assert stats.estimate(BUCKETS, 1, 2.0, 0.8, 7)[0] == 300
    stats.add_waiting(6, 2)
    median, result = stats.estimate(BUCKETS, 1, 2.0, 0.8, 7)
    assert median == -1
    assert (result.failed.in_mempool, result.failed.left_mempool) == (2, 1)
    # Two blocks from now the failure does not count: it had waited for one only.
    assert stats.estimate(BUCKETS, 2, 2.0, 0.8, 7)[0] == 300


def test_heights_wrap_around_on_a_short_chain() -> None:
    stats = ConfirmStats(len(BUCKETS), 3, 0.9, 1)
    stats.add_waiting(0, 1)
    # The reference takes one block and two blocks before block 1 for the same place: 2**32 - 1 is a multiple of 3.
    assert stats._waiting_for(1, 1) == [0, 2, 0, 0]
