"""One subscriber of the event stream in an API process.

Owns: his place in the log and what waits for him. Never: HTTP, waking (see `hub`).
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from clarion.node.errors import ClarionError, StreamError
from clarion.node.events.cursor import Cursor
from clarion.notifiers.stream.confirmations import Confirmations
from clarion.notifiers.stream.messages import error_message, notice
from clarion.notifiers.stream.request import StreamRequest

if TYPE_CHECKING:
    from clarion.api.streams.hub import StreamHub

QUEUE_LIMIT = 1000
"""Events that wait for one client; who needs more reads them from the log later."""

BATCH = 256
SENT_AT_ONCE = 64
"""So many messages are sent as soon as they are there; fewer, when all that is new has been looked through."""


class Message(NamedTuple):
    """What goes to the client: an event (`kind` is its type), a notice, or nothing but the cursor (`alive`)."""

    kind: str
    cursor: str
    data: bytes


class Subscription:
    """A stream's state. Belongs to the hub's event loop; `next` is awaited by one task at a time."""

    def __init__(
        self, hub: "StreamHub", request: StreamRequest, cursor: Cursor, depth: Confirmations | None, gap: int
    ) -> None:
        self.request = request
        self.cursor = cursor
        """Everything up to here is in the queue or was handed out."""
        self.depth = depth
        self.is_live = False
        self.news = asyncio.Event()
        self.ended = False
        self._hub = hub
        self._queue: deque[Message] = deque()
        self._told_live = False
        if gap:
            self._queue.append(self._notice("mempool_gap", from_seq=cursor.seq + 1, to_seq=gap))

    def offer(self, message: Message, cursor: Cursor) -> bool:
        """Queue an event of the hub; False if the client is too slow, who then goes on from the log.

        A few wait for `flush`, or until there are more: each sending costs more than a message.
        """
        if len(self._queue) >= QUEUE_LIMIT:
            self.is_live = False
            self._queue.append(self._notice("lagged"))
            self.news.set()
            return False
        self._queue.append(message)
        self.cursor = cursor
        if len(self._queue) >= SENT_AT_ONCE:
            self.news.set()
        return True

    def flush(self) -> None:
        """Send what was queued."""
        self.news.set()

    def end(self) -> None:
        """Have `next` return nothing any more once the queue is empty."""
        self.ended = True
        self.news.set()

    async def next(self, patience_s: float) -> list[Message]:
        """Return what comes next, in order; after `patience_s` without anything, one `alive` message.

        Returns nothing when the stream is over.
        """
        deadline = asyncio.get_running_loop().time() + patience_s
        while True:
            if self._queue:
                return [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            if self.ended:
                return []
            self.news.clear()
            if not self.is_live and await self._read_on():
                continue
            if not self._queue and not await self._wait(deadline):
                return [Message("alive", str(self.place), b"")]

    @property
    def place(self) -> Cursor:
        """The cursor from which a client that got everything so far would go on."""
        if not self.is_live or self._queue:
            return self.cursor
        # Asked for what it has grown to by now: what was looked through lies in front of this place.
        return self.request.wanted.mark(
            max(self.cursor, self._hub.cursor, key=lambda cursor: (cursor.seq, cursor.index))
        )

    async def _read_on(self) -> bool:
        """Read a page of the log; whether there is something to hand out, or more to read."""
        try:
            messages, page_cursor, is_last = await self._hub.read_page(self)
        except StreamError as error:
            self._queue.append(Message("error", str(self.cursor), error_message(error)))
            self.ended = True
            return True
        except ClarionError as error:
            failure = StreamError("unavailable", str(error))
            self._queue.append(Message("error", str(self.cursor), error_message(failure)))
            self.ended = True
            return True
        self._queue.extend(messages)
        self.cursor = page_cursor
        if not is_last:
            return True
        if not self._hub.admit(self):
            return True
        if not self._told_live:
            self._told_live = True
            self._queue.append(self._notice("live"))
        return bool(self._queue)

    async def _wait(self, deadline: float) -> bool:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            return self.news.is_set()
        try:
            async with asyncio.timeout(left):
                await self.news.wait()
        except TimeoutError:
            return False
        return True

    def _notice(self, kind: str, **values: int) -> Message:
        return Message(kind, str(self.cursor), notice(kind, self.cursor, **values))
