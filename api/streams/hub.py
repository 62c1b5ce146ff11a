"""All subscribers of one API process: news is read once, and found its way to by one index.

Owns: the one question to the node for news, the index of filters, handing over from the log to news. Never: HTTP.
An idle subscriber is an entry in the index; no task runs for it and nothing is asked on its behalf.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from clarion.api.streams.subscription import Message, Subscription
from clarion.node.errors import ClarionError, RpcError, StorageError, StreamError
from clarion.node.events.cursor import Cursor, log_start
from clarion.node.events.encoding import TYPE_NAMES
from clarion.notifiers.stream.filter_index import FilterIndex
from clarion.notifiers.stream.filters import EventFilter, StreamEvent
from clarion.notifiers.stream.log_reader import LogReader, Page
from clarion.notifiers.stream.messages import MessageEncoder
from clarion.notifiers.stream.request import StreamRequest

if TYPE_CHECKING:
    from clarion.api.executor import Executor

_log = logging.getLogger("clarion.http")

_SPENT = frozenset(("spent",))
_PAUSE_S = 1.0
_EVENTS_A_TURN = 200
_NOBODY_YET = 1 << 62
"""Stands for the last row that was read until it is known where news begins."""


def _place(cursor: Cursor) -> tuple[int, int]:
    return cursor.seq, cursor.index


def take_on_reorg(fields: dict[str, Any]) -> bool:
    """Take `on_reorg` out of the fields; whether a cursor that left the chain is to be refused. Raises StreamError."""
    if "on_reorg" not in fields:
        return False
    if str(fields.pop("on_reorg")) != "409":
        raise StreamError("bad-request", "on_reorg: 409 expected; leave it out to be told what to undo as events")
    return True


class StreamHub:
    """Belongs to one event loop; the log is read on the executor's threads."""

    def __init__(self, executor: "Executor") -> None:
        self._executor = executor
        self._params = executor.context.settings.params
        self._encoder = MessageEncoder(self._params)
        self._index: FilterIndex[Subscription] = FilterIndex()
        self._deep: set[Subscription] = set()
        self._all: set[Subscription] = set()
        self._reader: LogReader | None = None
        self._pump: asyncio.Task[None] | None = None
        self._read_seq = 0
        self.cursor: Cursor = log_start("0" * 16)
        """Everything up to here was offered to the subscribers that are live."""

    async def subscribe(self, request: StreamRequest, *, refuse_stale: bool = False) -> Subscription:
        """Return a new subscription; `drop` it in the end. Raises StreamError, RpcError -28, StorageError.

        `refuse_stale`: raise StreamError `reorganised` if the cursor's block has left the chain.
        """
        await self._executor.check_ready()
        subscription = await self._executor.run_in_thread(self._open, request, refuse_stale)
        assert isinstance(subscription, Subscription)
        self._all.add(subscription)
        if self._pump is None or self._pump.done():
            self._read_seq = _NOBODY_YET
            self._pump = asyncio.create_task(self._run())
        return subscription

    def drop(self, subscription: Subscription) -> None:
        """Forget a subscription."""
        self._all.discard(subscription)
        self._deep.discard(subscription)
        self._index.remove(subscription)
        subscription.end()

    async def close(self) -> None:
        """End all streams."""
        self._end_all()
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)

    async def read_page(self, subscription: Subscription) -> tuple[list[Message], Cursor, bool]:
        """Return (messages, the cursor behind them, whether the log ends there). Raises StreamError, StorageError."""
        return await self._executor.run_in_thread(self._read, subscription)  # type: ignore[no-any-return]

    def admit(self, subscription: Subscription) -> bool:
        """Let a subscription that has read the whole log hear the news; False if it has to read on first."""
        if subscription.depth is not None:
            # What is deep enough follows from the log: such a stream reads on there whenever there is news.
            self._deep.add(subscription)
            return True
        if subscription.cursor.seq < self._read_seq:
            return False
        self._index.add(subscription, subscription.request.wanted)
        subscription.is_live = True
        return True

    # --- on the executor's threads ----------------------------------------------------------------------------------

    def _open(self, request: StreamRequest, refuse_stale: bool) -> Subscription:
        if self._reader is None:
            self._reader = LogReader(self._executor.context.reader)
        cursor = self._reader.start(request.start)
        request.wanted.resume(cursor)
        cursor = request.wanted.mark(cursor)
        undo = self._reader.undo(cursor) if refuse_stale else None
        if undo is not None:
            raise StreamError("reorganised", "the cursor's block is not in the chain any more", **undo)
        depth = self._reader.depth(cursor, request.wanted)
        return Subscription(self, request, cursor, depth, self._reader.gap(cursor, request.wanted))

    def _read(self, subscription: Subscription) -> tuple[list[Message], Cursor, bool]:
        assert self._reader is not None
        request = subscription.request
        page = self._reader.page(subscription.cursor, request.wanted, request.details, subscription.depth)
        messages = [self._message(told, request.details) for told in page.events]
        return messages, page.cursor or subscription.cursor, page.is_last

    def _message(self, told: StreamEvent, details: frozenset[str]) -> Message:
        return Message(TYPE_NAMES[type(told.event)], str(told.cursor), self._encoder.event(told, details))

    # --- news -------------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        assert self._reader is not None
        try:
            self.cursor = await self._executor.run_in_thread(self._reader.now)
            self._read_seq = self.cursor.seq
            while self._all:
                status = orjson.loads(await self._executor.context.node.call("_wait_events", [self._read_seq]))
                if status["stopping"]:
                    break
                await self._tell_news()
        except RpcError:
            _log.info("the node has no more events: it is gone or stops")
        except StorageError as error:
            _log.error("the event stream ends: %s", error)
        finally:
            # Whoever heard news here must not wait for it in vain: clients come again, with their cursors.
            self._end_all()

    async def _tell_news(self) -> None:
        """Read what is new and offer it, page by page."""
        assert self._reader is not None
        while True:
            types, details = self._index.types(), self._wanted_details()
            try:
                page: Page = await self._executor.run_in_thread(
                    self._reader.page, self.cursor, EventFilter(types=types), details
                )
            except ClarionError as error:
                # A block that can't be read now. Nobody loses it: all stay where they are until it can.
                _log.error("the event stream can't go on: %s", error)
                await asyncio.sleep(_PAUSE_S)
                return
            if not (self._index.types() <= types and self._wanted_details() <= details):
                continue  # somebody came meanwhile who wants more than was read
            assert page.cursor is not None
            self._read_seq = page.cursor.seq
            wanting = self._index.find_all(page.events)
            touched: set[Subscription] = set()
            for at, told in enumerate(page.events):
                found = next(wanting)
                self._offer(told, found)
                touched.update(found)
                if at % _EVENTS_A_TURN == _EVENTS_A_TURN - 1:
                    await asyncio.sleep(0)
            self.cursor = page.cursor
            for each in touched:
                each.flush()
            for deep in self._deep:
                deep.news.set()
            if page.is_last:
                return

    def _offer(self, told: StreamEvent, wanting: Sequence[Subscription]) -> None:
        messages: dict[frozenset[str], Message] = {}
        for subscription in wanting:
            # Who came while this page was handed out has read it from the log already.
            if _place(told.cursor) <= _place(subscription.cursor):
                continue
            details, wanted = subscription.request.details, subscription.request.wanted
            cursor = wanted.mark(told.cursor)
            message = None if wanted.windows else messages.get(details)
            if message is None:
                message = self._message(told.at(cursor), details)
            if not wanted.windows:
                messages[details] = message
            if not subscription.offer(message, cursor):
                self._index.remove(subscription)

    def _wanted_details(self) -> frozenset[str]:
        """Return the details that somebody wants; with `spent` where a filter must know what is spent."""
        wanted: frozenset[str] = _SPENT if self._index.needs_spent() else frozenset()
        return wanted.union(*(each.request.details for each in self._all if each.is_live))

    def _end_all(self) -> None:
        for each in list(self._all):
            each.end()
