"""Waiting for the next tip.

Owns: who waits, for what and until when, and the one thread that tells them. Never: what they do then, clients.
The chain thread only says that the tip moved: it neither asks nor answers those who wait.
"""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class _Wait:
    happened: Callable[[], bool]
    deadline: float
    """A reading of `time.monotonic()`."""
    future: "Future[bool]"

    def look(self) -> None:
        """Ask whether it happened, or whether time is up."""
        try:
            happened = self.happened()
        except Exception as error:
            if self.future.set_running_or_notify_cancel():
                self.future.set_exception(error)
            return
        if happened or time.monotonic() >= self.deadline:
            self.resolve(happened)

    def resolve(self, happened: bool) -> None:
        """Tell the caller, unless he gave up meanwhile."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(happened)


class TipWatch:
    """Resolves futures when the tip that clients are told has moved. Safe to use from any thread."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._waits: set[_Wait] = set()
        self._moved = False
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._subscribers: list[Callable[[], None]] = []

    def subscribe(self, call: Callable[[], None]) -> None:
        """Have `call` made after every move of the tip, on the chain thread: it must return at once."""
        self._subscribers.append(call)

    def when(self, happened: Callable[[], bool], timeout_s: float | None = None) -> "Future[bool]":
        """Return a future that gets True as soon as `happened` does, False when time is up or the node stops.

        `happened` is asked now and after every move of the tip, on one thread for all: it must answer at once. No
        thread waits with the caller. A future that is cancelled is forgotten.
        """
        wait = _Wait(happened, math.inf if timeout_s is None else time.monotonic() + timeout_s, Future())
        wait.future.add_done_callback(lambda _: self._forget(wait))
        if happened():
            wait.resolve(True)
            return wait.future
        with self._condition:
            stopped = self._stopped
            if not stopped:
                self._waits.add(wait)
                # The tip may have moved since it was asked for.
                self._moved = True
                self._wake_thread()
        if stopped:
            wait.resolve(False)
        return wait.future

    def tip_moved(self) -> None:
        """Have everybody who waits look at the tip. Runs on the chain thread, after the commit."""
        for call in self._subscribers:
            call()
        with self._condition:
            self._moved = True
            self._condition.notify()

    def stop(self) -> None:
        """Resolve all that wait with False, and all that come. May be called twice."""
        with self._condition:
            self._stopped = True
            self._condition.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    @property
    def stopped(self) -> bool:
        """Whether nobody is told of tips any more: the node stops."""
        return self._stopped

    def _wake_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="tipwatch", daemon=True)
            self._thread.start()
        self._condition.notify()

    def _forget(self, wait: _Wait) -> None:
        with self._condition:
            self._waits.discard(wait)

    def _run(self) -> None:
        while True:
            with self._condition:
                nearest = min((wait.deadline for wait in self._waits), default=math.inf)
                patience = min(max(0.0, nearest - time.monotonic()), threading.TIMEOUT_MAX)
                self._condition.wait_for(lambda: self._moved or self._stopped, patience)
                self._moved = False
                stopped, waits = self._stopped, list(self._waits)
            # Without the lock: what hangs on a future runs here, and may ask for the next tip at once.
            for wait in waits:
                if stopped:
                    wait.resolve(False)
                else:
                    wait.look()
            if stopped:
                return
