"""Delivery as a whole: all lanes of a node, wherever they run.

Owns: opening notifiers, waking, waiting for and stopping their lanes. Never: processes, plugins.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from clarion.node.errors import ConfigError
from clarion.node.events.row import EventRow
from clarion.node.storage.rows import StoredBlock
from clarion.notifiers.feed import EventSource, Feed, FeedEvent
from clarion.notifiers.lane import Lane
from clarion.notifiers.lanes.delivery_lane import DeliveryLane
from clarion.notifiers.lanes.lane_desk import LaneDesk
from clarion.notifiers.lanes.notify_option import Delivery
from clarion.notifiers.lanes.services import LaneServices
from clarion.notifiers.lanes.stored_place import StoredPlace
from clarion.notifiers.memory_watch import is_foreign
from clarion.notifiers.notifier import Notifier, needs_blocks

_log = logging.getLogger(__name__)

_JOIN_STEP_S = 0.1
_ABANDON_S = 0.2

Descriptions = dict[str, list[dict[str, object]]]
"""By notifier's name, what it publishes where."""


class EventsEngine:
    """Tells every notifier what the log holds behind its position. All methods may be called from any thread."""

    def __init__(
        self,
        source: EventSource,
        notifiers: Sequence[Notifier | Delivery],
        start_at: int,
        positions: Mapping[str, int] | None = None,
        on_progress: Callable[[], None] = lambda: None,
        services: LaneServices | None = None,
        held: Mapping[str, str] | None = None,
    ) -> None:
        """`start_at` is the last row that nobody needs to hear of any more; `positions` says otherwise by name.

        `on_progress` is called on a lane's thread after each row that it told. `services` is needed where there are
        deliveries. Owns `source` and `services` from here on. `held` are lanes that begin paused, and why.
        """
        self._feed = Feed(source)
        self._services = services
        self._notifiers = list(notifiers)
        self._held = held or {}
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        at = positions or {}
        self._lanes = [self._lane(each, start_at, at) for each in notifiers]
        self._awaited = [lane for lane in self._lanes if lane.notifier.awaited]
        self.desk = LaneDesk(self._lanes, self._feed)

    def _lane(self, notifier: Notifier | Delivery, start_at: int, positions: Mapping[str, int]) -> Lane | DeliveryLane:
        if isinstance(notifier, Delivery):
            assert self._services is not None
            return DeliveryLane(notifier, self._services, start_at, self._progressed)
        place, at = None, positions.get(notifier.name, start_at)
        if self._services is not None and is_foreign(notifier):
            place = StoredPlace(notifier.name, self._services)
            found = place.find(at)
            # A process that replaces a dead one goes on from what that one said last.
            at = positions.get(notifier.name, found)
        return Lane(notifier, self._feed, at, self._progressed, place)

    def start(self) -> None:
        """Open all notifiers, then start all lanes. Raises ConfigError, with everything closed again."""
        names = [notifier.name for notifier in self._notifiers]
        opened = []
        try:
            if len(set(names)) != len(names):
                raise ConfigError(f"two notifiers have the same name: {', '.join(sorted(names))}")
            for lane in self._lanes:
                opened.append(lane)
                lane.open()
        except BaseException:
            for lane in opened:
                lane.close()
            self._close_sources()
            raise
        for lane in self._lanes:
            if lane.name in self._held:
                lane.state.paused, lane.state.last_error = True, self._held[lane.name]
            lane.start()

    @property
    def lanes(self) -> Sequence[Lane | DeliveryLane]:
        """All lanes."""
        return self._lanes

    def wake(self) -> None:
        """Say that rows have been committed. Does no I/O and never blocks."""
        for lane in self._lanes:
            lane.wake()

    def offer(self, rows: Sequence[EventRow]) -> None:
        """Give rows of the mempool to the lanes that want them before they are durable. Does no I/O, never blocks."""
        events = [FeedEvent(row, self._feed) for row in rows]
        for lane in self._lanes:
            if isinstance(lane, Lane):
                lane.offer(events)

    def expect(self, block: StoredBlock) -> None:
        """Read and parse a block that will probably be told soon, if a notifier needs blocks."""
        if any(needs_blocks(notifier) for notifier in self._notifiers):
            self._feed.prepare(block)

    def call_when_told(self, seq: int, callback: Callable[[], None]) -> None:
        """Call `callback` once every awaited notifier has been told row `seq`: at once, or later on a lane's thread."""
        with self._lock:
            if not self._told(seq):
                self._waiting.append((seq, callback))
                return
        callback()

    def positions(self) -> dict[str, int]:
        """Return the last row that each notifier has been told, by name."""
        return {lane.notifier.name: lane.position for lane in self._lanes}

    def heights(self) -> dict[str, int]:
        """Return, by lane whose place is stored, the height of the chain that it has come to; -1 for none."""
        return {lane.name: height for lane in self._lanes if (height := lane.height) is not None}

    def descriptions(self) -> Descriptions:
        """Return what each notifier publishes where, by name."""
        return {each.name: [dict(item) for item in each.describe()] for each in self._notifiers}

    def stop(self, timeout_s: float) -> None:
        """Tell the awaited notifiers what the log holds by now, let the others finish their row, close everything.

        A lane that tells nothing for `timeout_s` seconds and still is not done is left behind: its thread is a daemon.
        """
        last_seq = self._feed.last_seq()
        for lane in self._lanes:
            lane.stop_at(last_seq if lane.notifier.awaited else 0)
        stuck = self._join(timeout_s)
        for lane in stuck:
            lane.abandon()
        for lane in self._lanes:
            if lane in stuck and not lane.join(_ABANDON_S):
                _log.error("%s: left behind at event %d of %d", lane.notifier.name, lane.position, last_seq)
            else:
                lane.close()
        self._close_sources()

    def _close_sources(self) -> None:
        self._feed.close()
        if self._services is not None:
            self._services.close()

    def _join(self, timeout_s: float) -> list[Lane | DeliveryLane]:
        """Wait for the lanes' ends; return those that stand still."""
        running, before = list(self._lanes), self.positions()
        deadline = time.monotonic() + timeout_s
        while running and time.monotonic() < deadline:
            running[0].join(min(_JOIN_STEP_S, timeout_s))
            running = [lane for lane in running if not lane.join(0)]
            if self.positions() != before:
                before = self.positions()
                deadline = time.monotonic() + timeout_s
        return running

    def _told(self, seq: int) -> bool:
        return all(lane.position >= seq for lane in self._awaited)

    def _progressed(self, lane: Lane | DeliveryLane) -> None:
        if lane.notifier.awaited:
            with self._lock:
                ready = [entry for entry in self._waiting if self._told(entry[0])]
                self._waiting = [entry for entry in self._waiting if entry not in ready]
            for _, callback in ready:
                callback()
        self._on_progress()
