"""The fee rate below which nothing enters a pool that was full: it rises with evictions and falls with time.

Owns: the rate and its decay. Never: evicting.
"""

import math

from clarion.node.chain.clock import Clock
from clarion.node.mempool.feerate import FeeRate

HALF_LIFE_S = 12 * 60 * 60
_UPDATE_INTERVAL_S = 10


class RollingFee:
    """The reference's rolling minimum fee rate. It does not fall until a block has come since the last eviction."""

    def __init__(self, clock: Clock, incremental: FeeRate) -> None:
        self._clock = clock
        self._incremental = incremental
        self._sat_per_kvb = 0.0
        self._updated_at = clock.now()
        self._block_since_rise = False

    def evicted(self, rate: FeeRate) -> None:
        """Raise the minimum to `rate`, unless it is higher already."""
        if rate.sat_per_kvb > self._sat_per_kvb:
            self._sat_per_kvb = float(rate.sat_per_kvb)
            self._block_since_rise = False

    def block_connected(self) -> None:
        """Let it fall from now on."""
        self._updated_at = self._clock.now()
        self._block_since_rise = True

    def rate(self, usage_bytes: int, limit_bytes: int) -> FeeRate:
        """Return the minimum for a pool that uses so much of what it may: a rather empty one forgets faster."""
        if not self._block_since_rise or not self._sat_per_kvb:
            return FeeRate(_round(self._sat_per_kvb))
        now = self._clock.now()
        if now > self._updated_at + _UPDATE_INTERVAL_S:
            half_life = float(HALF_LIFE_S)
            if usage_bytes < limit_bytes // 4:
                half_life /= 4
            elif usage_bytes < limit_bytes // 2:
                half_life /= 2
            self._sat_per_kvb /= math.pow(2.0, (now - self._updated_at) / half_life)
            self._updated_at = now
            # Below half of the step that a replacement must pay, nobody could tell it from zero.
            if self._sat_per_kvb < self._incremental.sat_per_kvb / 2:
                self._sat_per_kvb = 0.0
                return FeeRate(0)
        return max(FeeRate(_round(self._sat_per_kvb)), self._incremental)


def _round(value: float) -> int:
    """Return the nearest whole number, halves upward."""
    return math.floor(value + 0.5)
