"""Waiting for what happens on its own.

Owns: the pause and the patience. Never: conditions.
"""

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], bool], timeout_s: float = 30) -> None:
    """Return once `condition` holds. Raises AssertionError if it does not in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen in {timeout_s} s"
        time.sleep(0.05)
