"""Where in the log the messages of Core's topics came from.

Owns: marks of this run of the events process, in memory. Never: sockets, reading the log.
"""

import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

Counters = Mapping[tuple[str, str], int]
"""By (topic, address): the counter of the next message."""

ROWS_A_MARK = 32
MARKS_KEPT = 50_000


class Mark(NamedTuple):
    """The counters in front of a row."""

    seq: int
    counters: Counters


class TopicMarks:
    """Noted on one thread, asked on another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._marks: deque[Mark] = deque(maxlen=MARKS_KEPT)
        self._next_seq = 0

    def is_due(self, seq: int) -> bool:
        """Whether a mark should be noted in front of row `seq`."""
        return seq >= self._next_seq

    def note(self, seq: int, counters: Counters) -> None:
        """Note the counters in front of row `seq`."""
        with self._lock:
            self._marks.append(Mark(seq, counters))
        self._next_seq = seq + ROWS_A_MARK

    def find(self, topic: str, address: str | None, counter: int) -> tuple[int, int] | None:
        """Return (row, counter of its first message), at or in front of the message `counter`; None if unknown.

        Without `address` the topic's first one counts. Counters that have wrapped at 2^32 are not found.
        """
        with self._lock:
            marks = list(self._marks)
        key = self._key(marks, topic, address)
        if key is None:
            return None
        at = bisect_right(marks, counter, key=lambda mark: mark.counters[key]) - 1
        return (marks[at].seq, marks[at].counters[key]) if at >= 0 else None

    @staticmethod
    def _key(marks: list[Mark], topic: str, address: str | None) -> tuple[str, str] | None:
        known = marks[0].counters if marks else {}
        return next((key for key in known if key[0] == topic and address in (None, key[1])), None)
