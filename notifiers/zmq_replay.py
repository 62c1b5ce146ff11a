"""Replay over ZMQ: `-zmqreplay` serves the log from any cursor, and the messages of Core's topics that somebody missed.

Owns: the ROUTER socket, its thread and the protocol. Never: what a cursor means (`stream.log_reader`), who of those
that follow wants an event (`stream.news`).
A request is [name, JSON]: `name` is the client's and comes back with each answer, the fields are those of a stream,
with `follow` (go on with what is new). [name] alone ends it. Answers are [name, kind, JSON]: events by their type,
notices, `end`, `error`. With `topic`, `counter` and `count` instead of `from` they are [name, topic, body, counter].
"""

import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson
import zmq

from clarion.node.errors import ClarionError, StreamError
from clarion.node.events.cursor import Cursor
from clarion.node.events.encoding import TYPE_NAMES
from clarion.node.params.chain_params import ChainParams
from clarion.node.storage.chain_reader import ChainReader
from clarion.notifiers.notifier import LoggedEvent
from clarion.notifiers.pub_socket import bind_socket
from clarion.notifiers.stream.confirmations import Confirmations
from clarion.notifiers.stream.log_reader import LogReader
from clarion.notifiers.stream.messages import MessageEncoder, error_message, notice
from clarion.notifiers.stream.news import News
from clarion.notifiers.stream.request import StreamRequest, parse_request
from clarion.notifiers.topic_marks import TopicMarks
from clarion.notifiers.topic_replay import missed_messages
from clarion.notifiers.zmq_address import ZmqAddress
from clarion.notifiers.zmq_curve import Curve, ServerContext

_log = logging.getLogger(__name__)

ALIVE_S = 15.0
MAX_REPLAYS = 1000
MAX_REQUEST_BYTES = 32 << 20
"""As over HTTP: filters with some hundred thousand scripts. libzmq ends the connection of whoever sends more."""

_BLOCKED_MS = 20
_HWM = 1000
_SENDS_A_TURN = 500
_MISSED_A_TURN = 200
_WAITING_LIMIT = 5000
"""Events that wait for one client who follows; who needs more reads them from the log later."""


@dataclass(eq=False)
class _Replay:
    """One request that is being served."""

    route: tuple[bytes, bytes]
    request: StreamRequest
    cursor: Cursor
    depth: Confirmations | None
    follow: bool
    missed: Iterator[list[bytes]] | None = None
    """Messages of a Core topic, where these were asked for."""
    waiting: deque[list[bytes]] = field(default_factory=deque)
    has_news: bool = True
    is_live: bool = False
    is_over: bool = False
    last_sent: float = field(default_factory=time.monotonic)


class ReplayServer:
    """A notifier that answers instead of telling: each row only wakes those who follow. One thread serves everybody."""

    name = "zmq replay"
    awaited = False

    def __init__(
        self,
        addresses: Sequence[ZmqAddress],
        params: ChainParams,
        open_reader: Callable[[], ChainReader],
        marks: TopicMarks,
        *,
        bind_wait_s: float = 5.0,
        curve: Curve | None = None,
    ) -> None:
        self._curve = curve
        self._addresses = list(addresses)
        self._params = params
        self._open_reader = open_reader
        self._marks = marks
        self._bind_wait_s = bind_wait_s
        self._encoder = MessageEncoder(params)
        self._replays: dict[tuple[bytes, bytes], _Replay] = {}
        self._stopping = False
        self._context: ServerContext | None = None
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Bind every address and start to serve. Raises ConfigError naming the option and libzmq's reason."""
        self._context = ServerContext(self._curve)
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.set(zmq.SNDHWM, _HWM)
        # A client that is full or gone is to be noticed: without it, ROUTER drops in silence.
        self._socket.set(zmq.ROUTER_MANDATORY, 1)
        self._socket.set(zmq.MAXMSGSIZE, MAX_REQUEST_BYTES)
        for each in self._addresses:
            bind_socket(self._socket, "-zmqreplay", each.address, self._bind_wait_s)
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._reader = self._open_reader()
        self._log = LogReader(self._reader)
        self._news: News[_Replay] = News(self._log)
        self._thread = threading.Thread(target=self._serve, name="zmq-replay", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all replays and close the socket."""
        if self._context is None:
            return
        if self._thread is not None:
            self._stopping = True
            self._wake()
            self._thread.join()
            os.close(self._wake_read)
            os.close(self._wake_write)
            self._reader.close()
        self._socket.close(linger=0)
        self._context.term()

    def describe(self) -> Sequence[Mapping[str, object]]:
        """Return each address."""
        return [{"type": "replay", "address": each.address} for each in self._addresses]

    def tell(self, event: LoggedEvent) -> None:
        """Wake those who follow."""
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # a full pipe holds a wake already
            os.write(self._wake_write, b"\0")

    # --- the thread -------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._wake_read, zmq.POLLIN)
        busy = blocked = False
        while not self._stopping:
            ready = dict(poller.poll(0 if busy else _BLOCKED_MS if blocked else int(ALIVE_S * 1000)))
            if self._wake_read in ready:
                os.read(self._wake_read, 4096)
                self._tell_news()
            if self._socket in ready:
                self._receive()
            busy = blocked = False
            for replay in list(self._replays.values()):
                went_on, is_blocked = self._go_on(replay)
                busy, blocked = busy or went_on, blocked or is_blocked

    def _receive(self) -> None:
        while True:
            try:
                frames = self._socket.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                return
            if len(frames) == 2:
                self._end((frames[0], frames[1]))
            elif len(frames) == 3:
                self._begin((frames[0], frames[1]), frames[2])

    def _begin(self, route: tuple[bytes, bytes], body: bytes) -> None:
        try:
            self._end(route)
            if len(self._replays) >= MAX_REPLAYS:
                raise StreamError("unavailable", "too many replays at a time")
            self._replays[route] = self._replay(route, _fields(body))
        except StreamError as error:
            self._send([*route, b"error", error_message(error)])
        except ClarionError as error:
            self._send([*route, b"error", error_message(StreamError("unavailable", str(error)))])
        except Exception:
            # One thread serves everybody: what one client asks must not end it.
            _log.exception("zmq replay: a request failed")
            self._send([*route, b"error", error_message(StreamError("unavailable", "the request failed"))])

    def _end(self, route: tuple[bytes, bytes]) -> None:
        replay = self._replays.pop(route, None)
        if replay is not None:
            self._news.drop(replay)

    def _tell_news(self) -> None:
        """Read on for those who have caught up, once for all of them; the others look for themselves."""
        for replay in self._replays.values():
            replay.has_news = replay not in self._news
        try:
            for told, who in self._news.read():
                kind = TYPE_NAMES[type(told.event)].encode()
                bodies: dict[frozenset[str], bytes] = {}
                for replay in who:
                    details, wanted = replay.request.details, replay.request.wanted
                    replay.cursor = wanted.mark(told.cursor)
                    if wanted.windows:
                        body = self._encoder.event(told.at(replay.cursor), details)
                    else:
                        body = bodies.get(details) or bodies.setdefault(details, self._encoder.event(told, details))
                    replay.waiting.append([*replay.route, kind, body])
                    if len(replay.waiting) >= _WAITING_LIMIT:
                        self._news.drop(replay)
                        replay.has_news = True
        except ClarionError as error:
            # Each finds out for himself whether that concerns him, and is told.
            _log.error("zmq replay: can't read what is new: %s", error)
            for replay in list(self._replays.values()):
                replay.has_news |= self._news.drop(replay)

    def _replay(self, route: tuple[bytes, bytes], fields: dict[str, Any]) -> _Replay:
        follow = fields.pop("follow", False)
        if not isinstance(follow, bool):
            raise StreamError("bad-request", "follow: true or false expected")
        if "topic" in fields:
            replay = _Replay(route, StreamRequest(), self._log.now(), None, False)
            replay.missed = missed_messages(fields, self._marks, self._log)
            return replay
        request = parse_request(fields, self._params)
        cursor = self._log.start(request.start)
        request.wanted.resume(cursor)
        cursor = request.wanted.mark(cursor)
        replay = _Replay(route, request, cursor, self._log.depth(cursor, request.wanted), follow)
        gap = self._log.gap(cursor, request.wanted)
        if gap:
            data = notice("mempool_gap", cursor, from_seq=cursor.seq + 1, to_seq=gap)
            replay.waiting.append([*route, b"mempool_gap", data])
        return replay

    def _go_on(self, replay: _Replay) -> tuple[bool, bool]:
        """Send what waits, else read on; (whether there is more to do at once, whether the client is full)."""
        for _ in range(_SENDS_A_TURN):
            if not replay.waiting:
                break
            try:
                self._socket.send_multipart(replay.waiting[0], zmq.DONTWAIT)
            except zmq.Again:
                return False, True
            except zmq.ZMQError:
                self._end(replay.route)
                return False, False
            replay.waiting.popleft()
            replay.last_sent = time.monotonic()
        if replay.waiting:
            return True, False
        if replay.is_over:
            self._end(replay.route)
            return False, False
        if replay.has_news:
            self._read(replay)
            return True, False
        if time.monotonic() - replay.last_sent >= ALIVE_S:
            place = replay.request.wanted.mark(self._news.place_of(replay, replay.cursor))
            replay.waiting.append([*replay.route, b"alive", notice("alive", place)])
            return True, False
        return False, False

    def _read(self, replay: _Replay) -> None:
        if replay.missed is not None:
            self._read_missed(replay, replay.missed)
            return
        request = replay.request
        try:
            page = self._log.page(replay.cursor, request.wanted, request.details, replay.depth)
        except ClarionError as error:
            told = error if isinstance(error, StreamError) else StreamError("unavailable", str(error))
            replay.waiting.append([*replay.route, b"error", error_message(told)])
            replay.is_over = True
            return
        for told_event in page.events:
            kind = TYPE_NAMES[type(told_event.event)].encode()
            replay.waiting.append([*replay.route, kind, self._encoder.event(told_event, request.details)])
        replay.cursor = page.cursor or replay.cursor
        replay.has_news = not page.is_last
        if page.is_last and not replay.is_live:
            replay.is_live, replay.is_over = True, not replay.follow
            kind_text = "live" if replay.follow else "end"
            replay.waiting.append([*replay.route, kind_text.encode(), notice(kind_text, replay.cursor)])
        if page.is_last and replay.follow and replay.depth is None:
            admitted = self._news.admit(replay, replay.cursor, request.wanted, request.details)
            replay.has_news = not admitted

    def _read_missed(self, replay: _Replay, missed: Iterator[list[bytes]]) -> None:
        """Take some of the messages that somebody missed: all at once, others would wait for a burst's worth."""
        try:
            some = list(islice(missed, _MISSED_A_TURN))
        except ClarionError as error:
            told = error if isinstance(error, StreamError) else StreamError("unavailable", str(error))
            replay.waiting.append([*replay.route, b"error", error_message(told)])
            replay.is_over = True
            return
        replay.waiting.extend([*replay.route, *parts] for parts in some)
        if len(some) < _MISSED_A_TURN:
            replay.waiting.append([*replay.route, b"end", b"{}"])
            replay.is_over = True

    def _send(self, frames: list[bytes]) -> None:
        with contextlib.suppress(zmq.ZMQError):  # full or gone: there is nobody to tell
            self._socket.send_multipart(frames, zmq.DONTWAIT)


def _fields(body: bytes) -> dict[str, Any]:
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise StreamError("bad-request", f"no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise StreamError("bad-request", "no JSON object")
    return fields
