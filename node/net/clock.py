"""Time on the network: what setmocktime sets, with microseconds where it runs.

Owns: the reading. Never: timers.
"""

import time

from clarion.node.chain.clock import Clock

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US


class NetClock:
    """Reads the node's clock. Everything that the reference measures with its mockable clock asks here."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> int:
        """Return whole seconds since the Unix epoch."""
        return self._clock.now()

    def now_us(self) -> int:
        """Return microseconds since the Unix epoch."""
        return self._clock.now() * SECOND_US if self._clock.mocked else time.time_ns() // 1000
