"""The fee estimator: which transactions count, three horizons of statistics, and the estimates that clients see.

Owns: the reference's CBlockPolicyEstimator without its file. Never: I/O, the pool. Safe from any thread.
"""

import logging
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple

from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.fees.buckets import EstimationResult, default_buckets, round_half_away
from clarion.node.mempool.fees.confirm_stats import ConfirmStats, Mined
from clarion.node.primitives.ids import Txid, hash_to_hex

_HALF_SUCCESS = 0.6
_SUCCESS = 0.85
_DOUBLE_SUCCESS = 0.95
_SUFFICIENT_TXS = 0.1
_SUFFICIENT_TXS_SHORT = 0.5
_OLDEST_HISTORY = 6 * 1008
"""Blocks after which what a file says about earlier blocks is no reason for an estimate."""

logger = logging.getLogger(__name__)


class Horizon(Enum):
    """How far statistics look back, by the name that RPC shows; members are in the order of the answers."""

    SHORT = "short"
    MEDIUM = "medium"
    LONG = "long"


_SHAPES = {
    # Half of the weight lies in the last 18 blocks, a day, a week.
    Horizon.SHORT: (12, 0.962, 1),
    Horizon.MEDIUM: (24, 0.9952, 2),
    Horizon.LONG: (42, 0.99931, 24),
}


class SmartEstimate(NamedTuple):
    """A rate, zero where there is no answer, and the target in blocks that it holds for."""

    feerate: FeeRate
    blocks: int


class EstimatorState(NamedTuple):
    """What is kept over a restart."""

    best_height: int
    first_height: int
    last_height: int
    """The blocks that the averages come from."""
    buckets: list[float]
    stats: dict[Horizon, ConfirmStats]


class _Tracked(NamedTuple):
    height: int
    bucket: int
    feerate: int


class FeeEstimator:
    """Learns how long transactions of each fee rate wait for a block, from the pool and from blocks."""

    def __init__(self, state: EstimatorState | None = None) -> None:
        """Start with what a file holds, else with nothing."""
        self._lock = threading.Lock()
        self._buckets = default_buckets()
        self._stats = {
            horizon: ConfirmStats(len(self._buckets), periods, decay, scale)
            for horizon, (periods, decay, scale) in _SHAPES.items()
        }
        self._best_height = 0
        self._first_recorded = 0
        self._historical = (0, 0)
        self._tracked: dict[Txid, _Tracked] = {}
        self._counts = [0, 0]
        self._has_data = state is not None
        if state is not None:
            self._buckets, self._stats = state.buckets, state.stats
            self._best_height, self._historical = state.best_height, (state.first_height, state.last_height)

    def process_transaction(self, txid: Txid, fee_sat: int, vsize: int, height: int, *, valid: bool) -> None:
        """Learn of a transaction that entered the pool when the tip was at `height`.

        `fee_sat` is the base fee, `vsize` sigop-adjusted. `valid` says whether its wait will tell anything: it came
        alone, under the pool's limits, without parents in the pool, and the chain is up to date.
        """
        with self._lock:
            if txid in self._tracked:
                logger.debug("Blockpolicy error mempool tx %s already being tracked", hash_to_hex(txid))
                return
            # In a reorganisation, or before the first block, nobody knows how long it will have waited.
            if height != self._best_height:
                return
            self._counts[not valid] += 1
            if not valid:
                return
            feerate = FeeRate(fee_sat, vsize).sat_per_kvb
            bucket = bisect_left(self._buckets, feerate)
            self._tracked[txid] = _Tracked(height, bucket, feerate)
            self._has_data = True
            for stats in self._stats.values():
                stats.add_waiting(height, bucket)

    def remove_transaction(self, txid: Txid) -> bool:
        """Learn that a transaction left the pool unmined. Returns whether it was tracked."""
        with self._lock:
            return self._remove_unmined(txid)

    def process_block(self, height: int, txids: Iterable[Txid]) -> None:
        """Learn of a block on the active chain and of those of the pool's transactions that it holds, in its order."""
        with self._lock:
            # A block that replaces another tells nothing new; it would count waits twice.
            if height <= self._best_height:
                return
            self._best_height = height
            if self._has_data:
                for stats in self._stats.values():
                    stats.start_block(height)
            counted, total = self._record_mined(height, txids)
            if not self._first_recorded and counted:
                self._first_recorded = height
                logger.debug("Blockpolicy first recorded height %u", height)
            logger.debug(
                "Blockpolicy estimates updated by %u of %u block txs, since last block %u of %u tracked, mempool map "
                "size %u, max target %u from %s",
                counted,
                total,
                self._counts[0],
                sum(self._counts),
                len(self._tracked),
                self._max_usable_target(),
                "historical" if self._historical_span() > self._block_span() else "current",
            )
            self._counts = [0, 0]

    def flush_unconfirmed(self) -> None:
        """Count all transactions that are still waiting as failed: nobody will follow them any more."""
        with self._lock:
            count = len(self._tracked)
            for txid in list(self._tracked):
                self._remove_unmined(txid)
            logger.debug("Recorded %u unconfirmed txs from mempool", count)

    def encoded(self, encode: Callable[[EstimatorState], bytes]) -> bytes:
        """Return `encode` of what is to be kept over a restart. Nothing changes meanwhile."""
        with self._lock:
            span = (self._first_recorded, self._best_height)
            if self._block_span() <= self._historical_span() // 2:
                span = self._historical
            return encode(EstimatorState(self._best_height, *span, self._buckets, self._stats))

    def highest_target(self, horizon: Horizon) -> int:
        """Return the highest target in blocks that the horizon keeps statistics for."""
        return self._stats[horizon].max_confirms

    def estimate_raw_fee(
        self, target: int, threshold: float, horizon: Horizon
    ) -> tuple[FeeRate, EstimationResult | None]:
        """Return one horizon's rate at which a share of `threshold` was mined within `target`, zero if unknown.

        With it comes how the estimate came about, None for a target or a threshold that the horizon can't judge.
        """
        stats = self._stats[horizon]
        if not 0 < target <= stats.max_confirms or threshold > 1:
            return FeeRate(0), None
        with self._lock:
            median, result = stats.estimate(self._buckets, target, _sufficient(horizon), threshold, self._best_height)
        return FeeRate(0 if median < 0 else round_half_away(median)), result

    def estimate_smart_fee(self, target: int, *, conservative: bool) -> SmartEstimate:
        """Return the rate at which a transaction will probably be mined within `target` blocks.

        It is the highest of three: 60 % within half the target, 85 % within the target, 95 % within twice the target,
        each by the shortest horizon that knows the target; `conservative` looks at the longer ones too.
        """
        with self._lock:
            if not 0 < target <= self._stats[Horizon.LONG].max_confirms:
                return SmartEstimate(FeeRate(0), target)
            # Nobody can tell what the very next block will hold.
            target = min(max(target, 2), self._max_usable_target())
            if target <= 1:
                return SmartEstimate(FeeRate(0), target)
            median = max(
                self._combined(target // 2, _HALF_SUCCESS, check_shorter=True),
                self._combined(target, _SUCCESS, check_shorter=True),
                self._combined(2 * target, _DOUBLE_SUCCESS, check_shorter=not conservative),
            )
            if conservative or median == -1:
                median = max(median, self._conservative(2 * target))
        return SmartEstimate(FeeRate(0 if median < 0 else round_half_away(median)), target)

    def _median(self, horizon: Horizon, target: int, success: float) -> float:
        stats = self._stats[horizon]
        return stats.estimate(self._buckets, target, _sufficient(horizon), success, self._best_height)[0]

    def _combined(self, target: int, success: float, *, check_shorter: bool) -> float:
        """Return the estimate of the shortest horizon that knows the target, or a lower one of a shorter horizon."""
        horizons = list(Horizon)
        while horizons and target > self._stats[horizons[0]].max_confirms:
            horizons.pop(0)
        if target < 1 or not horizons:
            return -1
        estimate = self._median(horizons[0], target, success)
        if check_shorter:
            for horizon in (Horizon.MEDIUM, Horizon.SHORT):
                highest = self._stats[horizon].max_confirms
                if target > highest:
                    shorter = self._median(horizon, highest, success)
                    if shorter > 0 and (estimate == -1 or shorter < estimate):
                        estimate = shorter
        return estimate

    def _conservative(self, double_target: int) -> float:
        """Return the highest estimate of the horizons that are longer than the target needs."""
        estimate = -1.0
        for needed, longer in ((Horizon.SHORT, Horizon.MEDIUM), (Horizon.MEDIUM, Horizon.LONG)):
            if double_target <= self._stats[needed].max_confirms:
                estimate = max(estimate, self._median(longer, double_target, _DOUBLE_SUCCESS))
        return estimate

    def _remove_unmined(self, txid: Txid) -> bool:
        tracked = self._tracked.pop(txid, None)
        if tracked is None:
            return False
        blocks_ago = self._best_height - tracked.height
        for stats in self._stats.values():
            stats.remove_waiting(tracked.height, tracked.bucket, blocks_ago)
            stats.record_failure(tracked.bucket, blocks_ago)
        return True

    def _record_mined(self, height: int, txids: Iterable[Txid]) -> tuple[int, int]:
        """Return (transactions that were tracked, all of them)."""
        mined: dict[int, Mined] = {}
        counted = total = 0
        for txid in txids:
            total += 1
            tracked = self._tracked.pop(txid, None)
            if tracked is None:
                continue
            counted += 1
            each = mined.setdefault(tracked.bucket, Mined({}, []))
            blocks = height - tracked.height
            each.waits[blocks] = each.waits.get(blocks, 0) + 1
            each.feerates.append(tracked.feerate)
        for stats in self._stats.values():
            for bucket, each in mined.items():
                for blocks, count in each.waits.items():
                    stats.remove_waiting(height - blocks, bucket, blocks, count)
            stats.record_mined(mined)
        return counted, total

    def _block_span(self) -> int:
        return self._best_height - self._first_recorded if self._first_recorded else 0

    def _historical_span(self) -> int:
        first, last = self._historical
        if not first or self._best_height - last > _OLDEST_HISTORY:
            return 0
        return last - first

    def _max_usable_target(self) -> int:
        # Half of the blocks seen, so that there was time enough to fail.
        span = max(self._block_span(), self._historical_span())
        return min(self._stats[Horizon.LONG].max_confirms, span // 2)


def _sufficient(horizon: Horizon) -> float:
    return _SUFFICIENT_TXS_SHORT if horizon is Horizon.SHORT else _SUFFICIENT_TXS
