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
    grown_bytes: int = 0
    """By how much the process's memory has grown while a plugin was told something."""
    weighed_from: int | None = None
    """What the process held when the plugin's present call began, None between two calls."""
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

    def weighed(self, held_bytes: int) -> None:
        """End a call that began with `weighed_from`."""
        self.grown_bytes, self.weighed_from = self.taken_bytes(held_bytes), None

    def taken_bytes(self, held_bytes: int) -> int:
        """Return by how much the process has grown in the plugin's calls, the present one included."""
        begun = self.weighed_from
        return self.grown_bytes + (0 if begun is None else held_bytes - begun)

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
