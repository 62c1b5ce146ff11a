"""How much passes all connections, and the operator's limit to it.

Owns: the totals and the day's account. Never: connections.
Source: Bitcoin Core's src/net.cpp (RecordBytesSent, OutboundTargetReached).
"""

from collections.abc import Callable

TIMEFRAME_S = 24 * 60 * 60
_BLOCK_INTERVAL_S = 10 * 60
_LARGEST_BLOCK = 4_000_000


class Traffic:
    """Bytes received and sent. Belongs to the network thread."""

    def __init__(self, limit: int, now: Callable[[], int]) -> None:
        """`limit` is what may be sent in a day; 0: anything."""
        self.limit = limit
        self.received = 0
        self.sent = 0
        self._now = now
        self._cycle_start = 0
        self._sent_in_cycle = 0

    def add_received(self, count: int) -> None:
        """Count bytes that came."""
        self.received += count

    def add_sent(self, count: int) -> None:
        """Count bytes that were sent."""
        self.sent += count
        now = self._now()
        if self._cycle_start + TIMEFRAME_S < now:
            self._cycle_start = now
            self._sent_in_cycle = 0
        self._sent_in_cycle += count

    @property
    def time_left_s(self) -> int:
        """Seconds until the account begins anew; 0 without a limit."""
        if self.limit == 0:
            return 0
        if self._cycle_start == 0:
            return TIMEFRAME_S
        return max(0, self._cycle_start + TIMEFRAME_S - self._now())

    @property
    def bytes_left(self) -> int:
        """What may still be sent in this day; 0 without a limit."""
        return max(0, self.limit - self._sent_in_cycle) if self.limit else 0

    @property
    def is_exhausted(self) -> bool:
        """Whether the limit is reached."""
        return self.limit > 0 and self._sent_in_cycle >= self.limit

    @property
    def serves_old_blocks(self) -> bool:
        """Whether enough is left for old blocks: each new block of the day must still be told once."""
        if self.limit == 0:
            return True
        reserve = self.time_left_s // _BLOCK_INTERVAL_S * _LARGEST_BLOCK
        return reserve < self.limit and self._sent_in_cycle < self.limit - reserve
