"""The node's clock, which `setmocktime` can stop.

Owns: the one place that consensus time comes from. Never: timing of the node's own work.
"""

import time


class Clock:
    """Seconds since the Unix epoch, or a fixed value while mocked. Safe to read from any thread."""

    def __init__(self, mock_time: int = 0) -> None:
        self._mock = mock_time

    def now(self) -> int:
        """Return whole seconds since the Unix epoch."""
        return self._mock or int(time.time())

    def set_mock(self, seconds: int) -> None:
        """Fix the clock at `seconds`; 0 lets it run again."""
        self._mock = seconds

    @property
    def mocked(self) -> bool:
        """Whether the clock stands still."""
        return self._mock != 0
