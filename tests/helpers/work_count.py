"""How much work something is: calls that Python makes for it, which are the same on every machine.

Owns: counting calls on the thread at hand. Never: time.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Work:
    """Calls so far, of Python functions and of built-in ones."""

    def __init__(self) -> None:
        self.calls = 0

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        """Take note of an event of the interpreter (sys.setprofile)."""
        if event in ("call", "c_call"):
            self.calls += 1


@contextmanager
def counted_work() -> Iterator[Work]:
    """Count while the block runs."""
    work = Work()
    before = sys.getprofile()
    sys.setprofile(work.note)
    try:
        yield work
    finally:
        sys.setprofile(before)
