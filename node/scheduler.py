"""Work that is done later or repeated at intervals, on a thread of its own.

Owns: when the work is due. Never: what it does. Imports nothing of Clarion.
"""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Scheduler:
    """Calls functions in so many seconds or every so many, one after the other. A call that takes long delays the others.

    What a call raises is logged and does not prevent the next ones. Safe from any thread.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """`now` reads a clock in seconds that never goes back."""
        self._now = now
        self._changed = threading.Condition()
        self._order = itertools.count()
        self._tasks: list[tuple[float, int, float | None, Callable[[], object]]] = []
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Let the call at hand come to its end, and make no other."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def every(self, interval_s: float, call: Callable[[], object]) -> None:
        """Make `call` every `interval_s` seconds, for the first time one interval from now."""
        self._add(interval_s, interval_s, call)

    def later(self, delay_s: float, call: Callable[[], object]) -> None:
        """Make `call` once, in `delay_s` seconds."""
        self._add(delay_s, None, call)

    def skip(self, seconds: float) -> None:
        """Act as if so much time had passed: for tests."""
        with self._changed:
            self._tasks = [(due - seconds, order, interval, call) for due, order, interval, call in self._tasks]
            self._changed.notify()

    def _add(self, delay_s: float, interval_s: float | None, call: Callable[[], object]) -> None:
        with self._changed:
            heapq.heappush(self._tasks, (self._now() + delay_s, next(self._order), interval_s, call))
            self._changed.notify()

    def _run(self) -> None:
        while (call := self._next()) is not None:
            try:
                call()
            except Exception:
                logger.exception("Repeated work failed")

    def _next(self) -> Callable[[], object] | None:
        """Wait for the next call that is due; None when stopping."""
        with self._changed:
            while not self._stopping:
                wait_s = self._tasks[0][0] - self._now() if self._tasks else None
                if wait_s is not None and wait_s <= 0:
                    _, order, interval_s, call = heapq.heappop(self._tasks)
                    if interval_s is not None:
                        heapq.heappush(self._tasks, (self._now() + interval_s, order, interval_s, call))
                    return call
                self._changed.wait(wait_s)
        return None
