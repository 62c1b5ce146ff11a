"""Lanes: one thread and one position in the log for each notifier.

Owns: reading on, telling, and trying again after a failure. Never: what is told.
The log itself is the queue: a slow notifier falls behind in its own lane, holds a position and a batch of rows, and
neither delays the others nor loses anything. Rows that are offered early only shorten the way: the lane goes on from
its position whichever way the next row comes, so it tells none twice and none out of order.
"""

import logging
import random
import threading
from collections.abc import Callable, Sequence

from clarion.node.errors import ClarionError
from clarion.notifiers.feed import Feed, FeedEvent
from clarion.notifiers.lanes.lane_state import LaneState
from clarion.notifiers.lanes.stored_place import StoredPlace
from clarion.notifiers.memory_trace import code_of
from clarion.notifiers.memory_watch import is_foreign, resident_bytes
from clarion.notifiers.notifier import Notifier, takes_early

_log = logging.getLogger(__name__)

BATCH = 64
EARLY_ROWS_KEPT = 4096
"""Rows that were offered early and wait for their turn; the log has those that come when so many wait."""
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


class Lane:
    """Tells one notifier every row behind `position`, in order, until it is stopped."""

    def __init__(
        self,
        notifier: Notifier,
        feed: Feed,
        position: int,
        on_progress: Callable[["Lane"], None],
        place: StoredPlace | None = None,
    ) -> None:
        """`position` is the last row that was told before; `on_progress` is called on the lane's thread after a row.

        `place` is told what was told, and stored when the log has no more for now.
        """
        self.notifier = notifier
        self.position = position
        self.state = LaneState()
        self._feed = feed
        self._place = place
        self._on_progress = on_progress
        self.is_weighed = is_foreign(notifier)
        self.code = code_of(notifier)
        self._takes_early = takes_early(notifier)
        self._early: dict[int, FeedEvent] = {}
        self._woken = threading.Event()
        self._stop_at: int | None = None
        self._abandoned = threading.Event()
        self._pause_s = _FIRST_PAUSE_S
        self._thread = threading.Thread(target=self._run, name=f"lane-{notifier.name}", daemon=True)

    @property
    def name(self) -> str:
        """The notifier's name."""
        return self.notifier.name

    @property
    def height(self) -> int | None:
        """The height that a lane with a stored place has come to, -1 for none; None for other lanes."""
        return None if self._place is None else self._place.height

    def open(self) -> None:
        """Open the notifier. Raises ConfigError."""
        self.notifier.open()

    def close(self) -> None:
        """Close the notifier, when the thread has ended or was never started."""
        self.notifier.close()

    def start(self) -> None:
        """Start telling."""
        self._thread.start()

    def pause(self) -> None:
        """Tell nothing more until `resume`, or until the process is started again."""
        self.state.paused = True

    def resume(self) -> None:
        """Go on where it stopped."""
        self.state.paused = False
        self._woken.set()

    def wake(self) -> None:
        """Say that the log may have grown. Never blocks."""
        self._woken.set()

    def offer(self, events: Sequence[FeedEvent]) -> None:
        """Give rows of the mempool that will be in the log under their numbers. Never blocks; may forget some."""
        if not self._takes_early:
            return
        for event in events:
            if event.row.seq > self.position and self._has_room():
                self._early[event.row.seq] = event
        self._woken.set()

    def _has_room(self) -> bool:
        if len(self._early) >= EARLY_ROWS_KEPT:
            # A row that came from the log in the very moment in which it was offered is still here.
            for seq in list(self._early):
                if seq <= self.position:
                    self._early.pop(seq, None)
        return len(self._early) < EARLY_ROWS_KEPT

    def stop_at(self, seq: int) -> None:
        """End the lane as soon as row `seq` has been told."""
        self._stop_at = seq
        self._woken.set()

    def abandon(self) -> None:
        """End the lane after the row that it is at, told or not."""
        self._abandoned.set()
        self._woken.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the lane's end; whether it came in time."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def _is_done(self) -> bool:
        return self._abandoned.is_set() or (self._stop_at is not None and self.position >= self._stop_at)

    def _run(self) -> None:
        while not self._is_done:
            # Cleared before the read: a row that is committed behind the read sets it again.
            self._woken.clear()
            try:
                events = self._next()
            except ClarionError as error:
                self._pause("can't read the event log", error)
                continue
            for event in events:
                if self._is_done or self.state.paused or not self._tell(event):
                    break
            self._store_place()
            if (not events or self.state.paused) and not self._is_done:
                self._woken.wait()

    def _next(self) -> Sequence[FeedEvent]:
        """Return the rows that follow, none if there are none yet. Raises StorageError."""
        early = self._early.get(self.position + 1)
        return self._feed.read(self.position, BATCH) if early is None else (early,)

    def _tell(self, event: FeedEvent) -> bool:
        """Tell one row; whether the lane may go on to the next."""
        if self.is_weighed:
            self.state.weighed_from = resident_bytes()
        try:
            self.notifier.tell(event)
        except Exception as error:
            self.state.failures(f"{type(error).__name__}: {error}")
            self.state.retried += 1
            self._pause(f"event {event.row.seq} is not told yet", error)
            return False
        finally:
            if self.is_weighed:
                self.state.weighed(resident_bytes())
        self.position = event.row.seq
        self.state.sent += 1
        self._early.pop(event.row.seq, None)
        self._pause_s = _FIRST_PAUSE_S
        if self._place is not None:
            self._place.told(event.row)
        self._on_progress(self)
        return True

    def _store_place(self) -> None:
        if self._place is not None:
            try:
                self._place.store()
            except ClarionError as error:
                # The next row stores it; until then a restart repeats a little more.
                _log.error("%s: can't store its place: %s", self.name, error)

    def _pause(self, what: str, error: Exception) -> None:
        # Each try fails in the same place: one traceback is enough.
        trace = None if isinstance(error, ClarionError) or self._pause_s > _FIRST_PAUSE_S else error
        _log.error("%s: %s: %s", self.notifier.name, what, error, exc_info=trace)
        # Wakes do not shorten it: new rows do not mend a broken disk or a broken plugin.
        self._abandoned.wait(self._pause_s * random.uniform(0.8, 1.2))
        self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)
