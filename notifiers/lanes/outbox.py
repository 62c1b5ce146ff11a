"""What a lane has to deliver next: a page of the log at a time, turned into messages.

Owns: the lane's place in the log and the few messages ahead of it. Never: delivering, storing the place.
It is the lane's bounded queue: at most one page is held, whatever waits behind it in the log.
"""

from collections import deque

from clarion.node.errors import ClarionError
from clarion.node.events.cursor import Cursor, log_start
from clarion.node.events.encoding import TYPE_NAMES
from clarion.node.params.chain_params import ChainParams
from clarion.notifiers.lanes.transport import Message
from clarion.notifiers.stream.confirmations import Confirmations
from clarion.notifiers.stream.filters import StreamEvent
from clarion.notifiers.stream.log_reader import LogReader
from clarion.notifiers.stream.messages import ENCODINGS, MessageEncoder
from clarion.notifiers.stream.request import StreamRequest
from clarion.notifiers.stream.sync_gate import SyncGate

CONTENT_TYPES = {"json": "application/json", "msgpack": "application/msgpack"}


class Outbox:
    """Reads on behind `cursor`. Used by one thread; other threads may read `cursor`."""

    def __init__(
        self, log: LogReader, params: ChainParams, request: StreamRequest, encoding: str, *, after_sync: bool
    ) -> None:
        self._log = log
        self._request = request
        self.content_type = CONTENT_TYPES[encoding]
        self._encode = ENCODINGS[encoding]
        self._encoder = MessageEncoder(params, encoding)
        self._gate: SyncGate | None = log.gate() if after_sync else None
        self._depth: Confirmations | None = None
        self._waiting: deque[StreamEvent] = deque()
        self._ready: deque[tuple[Message, Cursor]] = deque()
        self._page_end: Cursor | None = None
        self._has_news = True
        self.cursor = log_start(log.log_id)

    def __len__(self) -> int:
        """Return how many messages wait in memory."""
        return len(self._waiting) + len(self._ready)

    def begin(self, start: str, now_seq: int) -> None:
        """Go to where `start` says (`now`, `start`, `height:N`, a cursor). Raises StreamError, StorageError.

        `now` is behind row `now_seq`.
        """
        cursor = self._log.behind_row(now_seq) if start == "now" else self._log.start(start)
        self._request.wanted.resume(cursor)
        self.cursor = self._request.wanted.mark(cursor)
        self._waiting.clear()
        self._ready.clear()
        self._page_end = None
        self._has_news = True
        self._depth = self._log.depth(self.cursor, self._request.wanted)
        gap = self._log.gap(self.cursor, self._request.wanted)
        if gap:
            self._ready.append((self._gap_message(gap), self.cursor))

    def wake(self) -> None:
        """Say that the log may have grown. Any thread may call it."""
        self._has_news = True

    def peek(self, count: int) -> list[Message]:
        """Return the next messages, at most `count`; none if the log has no more for now. Raises as `begin`.

        The cursor moves on by itself where the filter lets nothing pass.
        """
        while not self._waiting and not self._ready:
            if self._page_end is not None:
                self.cursor, self._page_end = self._page_end, None
            if not self._has_news:
                return []
            self._read()
        while self._waiting and len(self._ready) < count:
            event = self._waiting.popleft()
            self._ready.append((self._message(event), event.cursor))
        return [message for message, _ in list(self._ready)[:count]]

    def taken(self, count: int) -> None:
        """Move the cursor behind the first `count` messages that `peek` returned."""
        for _ in range(count):
            self.cursor = self._ready.popleft()[1]
        if not self._ready and not self._waiting and self._page_end is not None:
            self.cursor, self._page_end = self._page_end, None

    def _read(self) -> None:
        # Cleared before the read: rows that come meanwhile set it again.
        self._has_news = False
        request = self._request
        try:
            page = self._log.page(self.cursor, request.wanted, request.details, self._depth, gate=self._gate)
        except ClarionError:
            self._has_news = True
            raise
        self._waiting.extend(page.events)
        self._page_end = page.cursor
        self._has_news = self._has_news or not page.is_last

    def _message(self, told: StreamEvent) -> Message:
        body = self._encoder.event(told, self._request.details)
        kind, event = TYPE_NAMES[type(told.event)], told.event
        return Message(str(event.id), str(told.cursor), kind, event.time, body, self.content_type)

    def _gap_message(self, gap: int) -> Message:
        text = str(self.cursor)
        value = {"type": "mempool_gap", "cursor": text, "from_seq": self.cursor.seq + 1, "to_seq": gap}
        name = f"{self._log.log_id}.{gap}.mempool_gap"
        return Message(name, text, "mempool_gap", 0, self._encode(value), self.content_type)
