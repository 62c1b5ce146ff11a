"""A lane: the thread that brings one receiver everything it was promised, in order, for as long as that takes.

Owns: delivering, trying again, giving up, pausing, and remembering how far it came. Never: how bytes travel.
The place is stored behind each delivery, so a crash repeats the last few messages, under the same identities, and
leaves none out. While the receiver is away the log keeps what waits; other lanes and the node do not notice.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from clarion.node.errors import ClarionError, DeliveryError, StreamError
from clarion.node.events.cursor import parse_cursor
from clarion.node.storage.lane_store import DeadLetter, LaneRecord
from clarion.notifiers.lanes.back_off import BackOff
from clarion.notifiers.lanes.lane_state import LaneState
from clarion.notifiers.lanes.notify_option import Delivery
from clarion.notifiers.lanes.outbox import Outbox
from clarion.notifiers.lanes.services import LaneServices
from clarion.notifiers.lanes.transport import Message
from clarion.notifiers.memory_trace import code_of
from clarion.notifiers.memory_watch import is_foreign, resident_bytes

_log = logging.getLogger(__name__)

MAX_DEAD_LETTERS = 10_000
"""A lane that has given up so many messages stops: something is wrong that no patience mends."""

_STORE_EVERY_S = 1.0
_ERROR_CHARACTERS = 500


class DeliveryLane:
    """Delivers for one `-notify`. `start` first, `join` last; the others may be called from any thread."""

    def __init__(
        self, delivery: Delivery, services: LaneServices, now_seq: int, on_progress: Callable[["DeliveryLane"], None]
    ) -> None:
        """`now_seq`: the row behind which `from=now` begins. `on_progress` is called on the lane's thread."""
        self.notifier = delivery
        self.state = LaneState()
        self.is_weighed = is_foreign(delivery.transport)
        self.code = code_of(delivery.transport)
        self._services = services
        self._store = services.store
        self._now_seq = now_seq
        self._on_progress = on_progress
        self._outbox = Outbox(
            services.log, services.params, delivery.request, delivery.encoding, after_sync=delivery.after_sync
        )
        self._back_off = BackOff(delivery.retry_s)
        self._record: LaneRecord | None = None
        self._start_at: str | None = None
        self._begun = False
        self._stored = ""
        self._stored_at = 0.0
        self._replays: deque[str] = deque()
        self._woken = threading.Event()
        self._interrupt = threading.Event()
        self._changed = threading.Lock()
        self._ending = False
        self._thread = threading.Thread(target=self._run, name=f"lane-{delivery.name}", daemon=True)

    @property
    def name(self) -> str:
        """The lane's name."""
        return self.notifier.name

    @property
    def position(self) -> int:
        """The last row of which everything was delivered."""
        cursor = self._outbox.cursor
        return cursor.seq if cursor.is_whole_row else cursor.seq - 1

    @property
    def height(self) -> int:
        """The height of the block that it told last, or was sent back to; -1 for none."""
        asked = self._start_at
        return self._outbox.cursor.height if asked is None else parse_cursor(asked).height

    # --- for the engine ---------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Take what is local and remember what was stored. Raises ConfigError, StorageError."""
        self.notifier.transport.open()
        self._record = self._store.lane(self.notifier.name)
        self.state.dead_letters = self._store.count_letters(self.notifier.name)
        if self._record is not None:
            self.state.paused, self.state.stopped = self._record.paused, self._record.stopped
            self._outbox.cursor = parse_cursor(self._record.cursor)

    def close(self) -> None:
        """Give the transport back. Called when the thread has ended, or was never started."""
        self.notifier.transport.close()

    def start(self) -> None:
        """Start delivering."""
        self._thread.start()

    def wake(self) -> None:
        """Say that the log may have grown. Never blocks."""
        self._outbox.wake()
        self._woken.set()

    def stop_at(self, seq: int) -> None:
        """End the lane after the messages that it is delivering; the others are delivered after the next start."""
        self.abandon()

    def abandon(self) -> None:
        """The same."""
        self._ending = True
        self._interrupt.set()
        self._woken.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the lane's end; whether it came in time."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    # --- for the operator -------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Deliver nothing more until `resume`, also after a restart."""
        self._hold(paused=True)

    def resume(self) -> None:
        """Go on at once: after a pause, after a stop, or in the middle of a back-off."""
        self._hold(paused=False)

    def reset(self, start: str) -> None:
        """Go on from somewhere else. Raises StreamError if there is no such place."""
        cursor = str(self._services.log.start(start))
        with self._changed:
            self._start_at = cursor
            self.state.stopped = ""
            self._save(LaneRecord(cursor, self.notifier.wanted, self.state.paused))
        self._interrupt.set()
        self._woken.set()

    def letters(self, limit: int) -> list[DeadLetter]:
        """Return the oldest messages that were given up."""
        return self._store.letters(self.notifier.name, limit)

    def has_letter(self, letter_id: str) -> bool:
        """Whether it gave up this message."""
        return self._store.letter(self.notifier.name, letter_id) is not None

    def replay(self, ids: Sequence[str]) -> None:
        """Deliver these messages that were given up once more, soon, in front of what is new."""
        self._replays.extend(ids)
        self._interrupt.set()
        self._woken.set()

    def drop_letter(self, letter_id: str) -> None:
        """Forget a message that was given up."""
        self._store.drop_letter(self.notifier.name, letter_id)
        self.state.dead_letters = self._store.count_letters(self.notifier.name)

    @property
    def queued(self) -> int:
        """How many messages wait in memory."""
        return len(self._outbox)

    @property
    def cursor(self) -> str:
        """How far it has come."""
        return str(self._outbox.cursor)

    def _hold(self, *, paused: bool) -> None:
        with self._changed:
            self.state.paused = paused
            if not paused:
                self.state.stopped = ""
            if self._record is not None:
                self._save(replace(self._record, paused=paused, stopped=self.state.stopped))
        self._interrupt.set()
        self._woken.set()

    # --- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._ending:
            # Cleared before the turn: what is asked for meanwhile sets them again.
            self._woken.clear()
            self._interrupt.clear()
            try:
                worked = self._turn()
            except StreamError as error:
                self._stop(str(error))
            except Exception as error:
                self._pause("can't go on yet", error)
            else:
                if not worked and not self._ending:
                    self._woken.wait()

    def _turn(self) -> bool:
        """Do the next piece of work; whether there may be more."""
        if self.state.stopped:
            return False
        if self._start_at is not None or not self._begun:
            self._begin()
        if self.state.paused:
            return False
        if self._replays:
            self._replay_one()
            return True
        messages = self._outbox.peek(self.notifier.batch)
        if messages:
            self._deliver(messages)
        self._remember(at_once=bool(messages))
        self._on_progress(self)
        return bool(messages)

    def _begin(self) -> None:
        """Find the place to go on from, and store it: what comes from now on is not missed whatever happens."""
        with self._changed:
            asked, self._start_at = self._start_at, None
            delivery, record = self.notifier, self._record
            if asked is not None:
                self._outbox.begin(asked, self._now_seq)
            elif record is None or (record.wanted != delivery.wanted and delivery.rescan_on_change):
                self._outbox.begin(delivery.request.start, self._now_seq)
            else:
                if record.wanted != delivery.wanted:
                    _log.info("%s: another filter counts from %s on", delivery.name, record.cursor)
                self._outbox.begin(record.cursor, self._now_seq)
            self._begun = True
            self._back_off.reset()
            self._save(LaneRecord(self.cursor, delivery.wanted, self.state.paused, self.state.stopped))

    def _deliver(self, messages: Sequence[Message]) -> None:
        """Send, and move on behind what was confirmed; what fails is waited for, or given up."""
        if self.is_weighed:
            self.state.weighed_from = resident_bytes()
        try:
            self.notifier.transport.send(messages)
        except Exception as error:
            failure = error if isinstance(error, DeliveryError) else DeliveryError(_text(error))
            self._confirmed(failure.sent)
            self._failed(messages[failure.sent], failure, error)
        else:
            self._confirmed(len(messages))
        finally:
            if self.is_weighed:
                self.state.weighed(resident_bytes())

    def _confirmed(self, count: int) -> None:
        if not count:
            return
        self._outbox.taken(count)
        if self._back_off.attempts:
            _log.info("%s: delivers again", self.notifier.name)
        self._back_off.reset()
        self.state.delivered(count)

    def _failed(self, message: Message, failure: DeliveryError, error: Exception) -> None:
        self.state.failures(str(failure))
        if failure.ends_lane:
            self._stop(str(failure))
            return
        limit = self.notifier.attempts
        if failure.permanent or (limit and self._back_off.attempts + 1 >= limit):
            self._give_up(message, failure)
            return
        self.state.retried += 1
        self._pause(f"event {message.id} is not delivered yet", error, failure.retry_after_s)

    def _give_up(self, message: Message, failure: DeliveryError) -> None:
        attempts = self._back_off.attempts + 1
        letter = _letter(message, attempts, str(failure))
        self._store.bury(self.notifier.name, letter)
        self._outbox.taken(1)
        self._back_off.reset()
        self.state.dead_letters = self._store.count_letters(self.notifier.name)
        _log.error("%s: event %s is given up after %d attempts: %s", self.notifier.name, message.id, attempts, failure)
        if self.state.dead_letters >= MAX_DEAD_LETTERS:
            self._stop(f"{self.state.dead_letters} messages were given up")

    def _replay_one(self) -> None:
        letter_id = self._replays.popleft()
        letter = self._store.letter(self.notifier.name, letter_id)
        if letter is None:
            return
        content_type = self._outbox.content_type
        message = Message(letter.id, letter.cursor, letter.type, letter.time, letter.body, content_type)
        try:
            self.notifier.transport.send([message])
        except Exception as error:
            self.state.failures(_text(error))
            buried = _letter(message, letter.attempts + 1, _text(error))
            self._store.update_letter(self.notifier.name, buried)
            _log.error("%s: event %s is still not delivered: %s", self.notifier.name, letter.id, _text(error))
        else:
            self.drop_letter(letter_id)
            self.state.delivered(1)

    def _remember(self, *, at_once: bool) -> None:
        """Store the place: behind each delivery, and now and then where the filter lets nothing pass."""
        now = time.monotonic()
        if self.cursor == self._stored or not (at_once or now >= self._stored_at + _STORE_EVERY_S):
            return
        with self._changed:
            assert self._record is not None
            self._store.move(self.notifier.name, self.cursor)
            self._record = replace(self._record, cursor=self.cursor)
            self._stored, self._stored_at = self.cursor, now

    def _save(self, record: LaneRecord) -> None:
        self._store.save(self.notifier.name, record)
        self._record = record
        self._stored, self._stored_at = record.cursor, time.monotonic()

    def _stop(self, reason: str) -> None:
        """Stand still until the operator says otherwise: nothing that time mends."""
        _log.error("%s: stopped: %s", self.notifier.name, reason)
        with self._changed:
            self.state.stopped = reason
            self.state.last_error = reason
            if self._record is not None:
                self._save(replace(self._record, stopped=reason))

    def _pause(self, what: str, error: Exception, at_least_s: float | None = None) -> None:
        pause_s = self._back_off.next_pause_s(at_least_s)
        # Once an outage is known, it is news no more.
        level = logging.WARNING if self._back_off.attempts == 1 else logging.DEBUG
        trace = None if isinstance(error, ClarionError | OSError) else error
        name = self.notifier.name
        _log.log(level, "%s: %s, next try in %.1f s: %s", name, what, pause_s, _text(error), exc_info=trace)
        self.state.retry_at = time.monotonic() + pause_s
        # Wakes do not shorten it: new rows do not mend a receiver. The operator does.
        if not self._ending:
            self._interrupt.wait(pause_s)
        self.state.retry_at = None


def _text(error: Exception) -> str:
    text = str(error) if isinstance(error, ClarionError) else f"{type(error).__name__}: {error}"
    return text[:_ERROR_CHARACTERS]


def _letter(message: Message, attempts: int, error: str) -> DeadLetter:
    return DeadLetter(
        message.id,
        message.type,
        message.time,
        message.cursor,
        message.body,
        attempts,
        error[:_ERROR_CHARACTERS],
        int(time.time()),
    )
