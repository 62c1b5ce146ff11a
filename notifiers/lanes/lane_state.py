"""What a lane tells about itself.

Owns: its counters and its state as one value for people and machines. Never: deciding anything.
"""

import time
from dataclasses import dataclass


@dataclass(slots=True)
class LaneState:
    """Written by the lane's thread and the operator's calls, read by anyone. Counters start at 0 with the process."""

    sent: int = 0
    """Messages that were confirmed; rows of the log for lanes that tell whole rows."""
    failed: int = 0
    """Attempts in vain."""
    retried: int = 0
    """Attempts that followed one in vain."""
    dead_letters: int = 0
    """Messages that were given up and are kept; outlives restarts."""
    last_error: str = ""
    last_sent_at: int | None = None
    """Unix seconds."""
    paused: bool = False
    stopped: str = ""
    """Why it stands still until the operator says otherwise."""
    retry_at: float | None = None
    """When it tries again, by `time.monotonic()`, while it waits for that."""

    def delivered(self, count: int) -> None:
        """Count what was confirmed."""
        self.sent += count
        self.last_sent_at = int(time.time())
        self.last_error = ""

    def failures(self, error: str) -> None:
        """Count an attempt in vain."""
        self.failed += 1
        self.last_error = error

    @property
    def word(self) -> str:
        """The state in one word: `running`, `retrying`, `paused` or `stopped`."""
        if self.stopped:
            return "stopped"
        if self.paused:
            return "paused"
        return "running" if self.retry_at is None else "retrying"

    @property
    def retry_in_s(self) -> float | None:
        """Seconds until the next attempt, None while it is not waiting for one."""
        at = self.retry_at
        return None if at is None else round(max(0.0, at - time.monotonic()), 1)
