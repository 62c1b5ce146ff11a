"""For subscribers: iterate over the events of a node for ever, over ZMQ, with nothing lost and nothing twice.

Owns: requests to `-zmqreplay`, connecting again, gaps in the counters of Bitcoin Core's topics. Never: the node's insides:
this module needs pyzmq and orjson only, and may be copied.

    for event in events("tcp://127.0.0.1:28340", start=load_cursor()):
        handle(event)                     # a dict, see docs/events.md
        save_cursor(event["cursor"])      # in the same database transaction as what `handle` wrote
"""

import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import zmq
import zmq.asyncio

SILENCE_S = 40.0
"""A server says something every 15 s; who hears nothing for this long connects again."""

NOTICES = frozenset(("alive", "live", "end"))
"""Messages that say where the stream is, and are not passed on unless asked for."""

_RETRY_CODES = frozenset(("unavailable",))
_SUBSCRIPTION_S = 0.2
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 10.0
_FETCHED_AT_ONCE = 10_000
_FETCHED_A_TURN = 500
_names = itertools.count(1)


@dataclass(frozen=True)
class ClientKeys:
    """Keys (Z85) for a node with -zmqcurvekey: its public one, and our own pair if it must know us (-zmqcurveclients)."""

    server: bytes
    public: bytes = b""
    secret: bytes = b""

    def apply(self, socket: Any) -> None:
        """Have a socket speak encrypted, under a pair of keys for this connection where we have none."""
        public, secret = (self.public, self.secret) if self.secret else zmq.curve_keypair()
        socket.set(zmq.CURVE_SERVERKEY, self.server)
        socket.set(zmq.CURVE_PUBLICKEY, public)
        socket.set(zmq.CURVE_SECRETKEY, secret)


class StreamRefused(Exception):
    """The server can't serve what was asked for. `code` is one of docs/events.md, `details` help to go on."""

    def __init__(self, code: str, message: str, details: dict[str, Any]) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.details = details


class _Session:
    """One subscriber's state, without a socket."""

    def __init__(self, start: str, follow: bool, notices: bool, fields: dict[str, Any]) -> None:
        self.cursor = start
        self.is_over = False
        self.pause_s = _FIRST_PAUSE_S
        self._name = b""
        self._follow = follow
        self._notices = notices
        self._fields = fields

    def request(self) -> list[bytes]:
        """Return the frames that ask for everything behind the cursor. Answers to earlier requests count no more."""
        self._name = str(next(_names)).encode()
        return [self._name, orjson.dumps({**self._fields, "from": self.cursor, "follow": self._follow})]

    def receive(self, frames: Sequence[bytes]) -> dict[str, Any] | None:
        """Return the message to pass on, None for others. Raises StreamRefused, ConnectionError to ask again."""
        if len(frames) != 3 or frames[0] != self._name:
            return None
        message: dict[str, Any] = orjson.loads(frames[2])
        kind = message["type"]
        if kind == "error":
            if message["code"] in _RETRY_CODES:
                raise ConnectionError(message["message"])
            raise StreamRefused(message.pop("code"), message.pop("message"), message)
        self.pause_s = _FIRST_PAUSE_S
        self.cursor = message["cursor"]
        self.is_over = kind == "end"
        return None if kind in NOTICES and not self._notices else message

    def next_pause_s(self) -> float:
        """Return how long to wait before asking again."""
        pause, self.pause_s = self.pause_s, min(self.pause_s * 2, _LONGEST_PAUSE_S)
        return pause


def events(
    address: str,
    *,
    start: str = "now",
    follow: bool = True,
    notices: bool = False,
    keys: ClientKeys | None = None,
    **fields: Any,
) -> Iterator[dict[str, Any]]:
    """Yield events behind `start` (`now`, `start`, `height:N`, a cursor) from `-zmqreplay=<address>`, in order.

    `fields` are those of a stream (`types=["tx_confirmed"]`, `addresses=[…]`, `details=["fee"]`). Goes on for ever
    across restarts of the node, or to the log's present end without `follow`. `notices` yields also what is no event.
    Raises StreamRefused.
    """
    session = _Session(start, follow, notices, fields)
    context = zmq.Context()
    try:
        while not session.is_over:
            with context.socket(zmq.DEALER) as socket:
                poller = zmq.Poller()
                lost = _connect(socket, poller, address, keys)
                socket.send_multipart(session.request())
                try:
                    while not session.is_over and (ready := dict(poller.poll(int(SILENCE_S * 1000)))):
                        if lost in ready:
                            break
                        message = session.receive(socket.recv_multipart())
                        if message is not None:
                            yield message
                except ConnectionError:
                    time.sleep(session.next_pause_s())
                finally:
                    socket.disable_monitor()
                    lost.close()
    finally:
        context.destroy(linger=0)


def _join(socket: Any, address: str, keys: ClientKeys | None) -> None:
    """Connect to an address as the node's options have it: `unix:/path` and IPv6 too."""
    # With IPv6 switched on, libzmq looks for nothing else behind a name.
    socket.set(zmq.IPV6, int("[" in address))
    if keys is not None:
        keys.apply(socket)
    socket.connect("ipc://" + address.removeprefix("unix:") if address.startswith("unix:") else address)


def _connect(socket: Any, poller: Any, address: str, keys: ClientKeys | None) -> Any:
    """Connect, register with the poller, and return a socket that becomes readable when the connection is lost.

    libzmq connects again by itself, but the server that comes back does not know what it was asked for.
    """
    socket.set(zmq.LINGER, 0)
    lost = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    _join(socket, address, keys)
    poller.register(socket, zmq.POLLIN)
    poller.register(lost, zmq.POLLIN)
    return lost


async def events_async(
    address: str,
    *,
    start: str = "now",
    follow: bool = True,
    notices: bool = False,
    keys: ClientKeys | None = None,
    **fields: Any,
) -> AsyncIterator[dict[str, Any]]:
    """Do the same as `events` in asyncio."""
    import asyncio

    session = _Session(start, follow, notices, fields)
    context = zmq.asyncio.Context()
    try:
        while not session.is_over:
            socket = context.socket(zmq.DEALER)
            poller = zmq.asyncio.Poller()
            lost = _connect(socket, poller, address, keys)
            try:
                await socket.send_multipart(session.request())
                while not session.is_over and (ready := dict(await poller.poll(int(SILENCE_S * 1000)))):
                    if lost in ready:
                        break
                    message = session.receive(await socket.recv_multipart())
                    if message is not None:
                        yield message
            except ConnectionError:
                await asyncio.sleep(session.next_pause_s())
            finally:
                socket.disable_monitor()
                lost.close()
                socket.close()
    finally:
        context.destroy(linger=0)


def core_messages(
    address: str,
    topics: Sequence[str],
    replay: str,
    *,
    silence_s: float = SILENCE_S,
    keys: ClientKeys | None = None,
    core_keys: ClientKeys | None = None,
    on_connect: Callable[[], None] = lambda: None,
    hwm: int = 0,
) -> Iterator[tuple[str, bytes, int]]:
    """Yield (topic, body, counter) of Bitcoin Core's topics at `address`; those that were lost are fetched from `replay`.

    Each topic comes without gaps. A counter that starts again at 0 means that the node was started again: what happened
    in between is in the event stream alone, and nothing shows that it happened until the next message comes: so
    `on_connect` is called a moment after each connection, the first one too. `keys` are for the replay, `core_keys` for
    the topics (-zmqcurvecore). `hwm`: how many messages may wait here while they are not asked for, 0 for no limit but memory; what
    is more waits at the node, as far as its mark goes, or is fetched later. Raises StreamRefused `unknown-counter` where messages are gone for good.
    """
    counters = _Counters()
    context = zmq.Context()
    try:
        socket, connected, poller = _subscribe(context, zmq.Poller(), address, topics, core_keys, hwm)
        while True:
            ready = dict(poller.poll())
            if connected in ready:
                connected.recv_multipart()
                # What is told before the subscription has arrived there is lost, too.
                time.sleep(_SUBSCRIPTION_S)
                on_connect()
            if socket not in ready:
                continue
            topic, body, counter, gap = counters.read(socket.recv_multipart())
            if gap:
                yield from _fetch(context, replay, topic, *gap, silence_s, keys)
            yield topic, body, counter
    finally:
        context.destroy(linger=0)


async def core_messages_async(
    address: str,
    topics: Sequence[str],
    replay: str,
    *,
    silence_s: float = SILENCE_S,
    keys: ClientKeys | None = None,
    core_keys: ClientKeys | None = None,
    on_connect: Callable[[], None] = lambda: None,
    hwm: int = 0,
) -> AsyncIterator[tuple[str, bytes, int]]:
    """Do the same as `core_messages` in asyncio. What was lost is fetched on other threads."""
    import asyncio

    counters = _Counters()
    context, fetching = zmq.asyncio.Context(), zmq.Context()
    try:
        socket, connected, poller = _subscribe(context, zmq.asyncio.Poller(), address, topics, core_keys, hwm)
        while True:
            ready = dict(await poller.poll())
            if connected in ready:
                await connected.recv_multipart()
                await asyncio.sleep(_SUBSCRIPTION_S)
                on_connect()
            if socket not in ready:
                continue
            topic, body, counter, gap = counters.read(await socket.recv_multipart())
            lost = _fetch(fetching, replay, topic, *gap, silence_s, keys) if gap else iter(())
            while some := await asyncio.to_thread(_some, lost):
                for message in some:
                    yield message
            yield topic, body, counter
    finally:
        context.destroy(linger=0)
        fetching.destroy(linger=0)


def _some(messages: Iterator[tuple[str, bytes, int]]) -> list[tuple[str, bytes, int]]:
    return list(itertools.islice(messages, _FETCHED_A_TURN))


def _subscribe(
    context: Any, poller: Any, address: str, topics: Sequence[str], keys: ClientKeys | None, hwm: int
) -> tuple[Any, Any, Any]:
    """Return a SUB socket, one that becomes readable when it has connected, and the poller with both."""
    socket = context.socket(zmq.SUB)
    socket.set(zmq.RCVHWM, hwm)
    connected = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
    _join(socket, address, keys)
    for topic in topics:
        socket.subscribe(topic)
    poller.register(socket, zmq.POLLIN)
    poller.register(connected, zmq.POLLIN)
    return socket, connected, poller


class _Counters:
    """What each topic's next counter should be."""

    def __init__(self) -> None:
        self._expected: dict[str, int] = {}

    def read(self, frames: Sequence[bytes]) -> tuple[str, bytes, int, tuple[int, int] | None]:
        """Return topic, body, counter, and what was lost in front of it: (first counter, how many)."""
        topic, body, counter = frames[0].decode(), frames[1], int.from_bytes(frames[2], "little")
        first = self._expected.get(topic, counter)
        self._expected[topic] = (counter + 1) % 2**32
        return topic, body, counter, (first, counter - first) if counter > first else None


def _fetch(
    context: "zmq.Context[zmq.Socket[bytes]]",
    replay: str,
    topic: str,
    first: int,
    count: int,
    silence_s: float,
    keys: ClientKeys | None,
) -> Iterator[tuple[str, bytes, int]]:
    """Yield `count` messages from counter `first` on, asking again for those that are not durable yet."""
    end, pause_s = first + count, _FIRST_PAUSE_S
    while first < end:
        begun, name = first, str(next(_names)).encode()
        with context.socket(zmq.DEALER) as socket:
            poller = zmq.Poller()
            lost = _connect(socket, poller, replay, keys)
            socket.send_multipart(
                [name, orjson.dumps({"topic": topic, "counter": first, "count": min(end - first, _FETCHED_AT_ONCE)})]
            )
            try:
                while (ready := dict(poller.poll(int(silence_s * 1000)))) and lost not in ready:
                    frames = socket.recv_multipart()
                    if len(frames) == 4:
                        first = int.from_bytes(frames[3], "little") + 1
                        yield frames[1].decode(), frames[2], first - 1
                        continue
                    if frames[1] == b"error":
                        refusal = orjson.loads(frames[2])
                        raise StreamRefused(refusal["code"], refusal["message"], refusal)
                    break
            finally:
                socket.disable_monitor()
                lost.close()
        if first == begun:
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
