"""Waiting for what happens on its own.

Owns: the pause and the patience, and whether a process has ended. Never: other conditions.
"""

import time
from collections.abc import Callable
from pathlib import Path


def wait_for(condition: Callable[[], bool], timeout_s: float = 30) -> None:
    """Return once `condition` holds. Raises AssertionError if it does not in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen in {timeout_s} s"
        time.sleep(0.05)


def is_running(pid: int | None) -> bool:
    """Whether a process lives; one that only waits for its parent to hear of its end does not. Linux only."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
