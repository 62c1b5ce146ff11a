"""How long a lane waits between attempts.

Owns: the schedule and its jitter. Never: waiting.
"""

import random
from collections.abc import Sequence

JITTER = 0.2
"""Pauses vary by a fifth, so that lanes that failed together do not all come back at once."""


class BackOff:
    """Counts the attempts in vain at one message."""

    def __init__(self, schedule_s: Sequence[float], chance: random.Random | None = None) -> None:
        """`schedule_s`: pauses in seconds; the last one is repeated."""
        self._schedule = tuple(schedule_s)
        self._chance = chance or random.Random()
        self.attempts = 0

    def reset(self) -> None:
        """Say that an attempt succeeded, or that another message is at hand."""
        self.attempts = 0

    def next_pause_s(self, at_least_s: float | None = None) -> float:
        """Count one more attempt in vain and return the pause that follows, in seconds; never below `at_least_s`."""
        planned = self._schedule[min(self.attempts, len(self._schedule) - 1)]
        self.attempts += 1
        varied = planned * self._chance.uniform(1 - JITTER, 1 + JITTER)
        return max(varied, at_least_s or 0.0)
