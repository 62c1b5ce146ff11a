"""A subscriber of one transport as a process that may be killed at any moment: it writes down what it handles.

    python -m helpers.transport_reader KIND ADDRESS NAME BOOK REPLAY

Owns: for each kind, how a reader goes on where it was. Never: asserting. BOOK gets one line for each event: its id and
cursor. What is in it already is counted as a repeat in BOOK.repeats, and not handled again.
"""

import asyncio
import contextlib
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from clarion.notifiers.client import StreamRefused, core_messages, events

_RETRY_S = 0.1
Take = Callable[[str, str], None]


class Book:
    """What was handled, in order; durable as far as a killed process goes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        text = path.read_text() if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]  # a kill may have torn the last line
        if len(whole) < len(text):
            path.write_text(whole)
        lines = [line.split() for line in whole.splitlines()]
        self._ids = {line[0] for line in lines}
        self.cursor = lines[-1][1] if lines else "start"
        self._out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._repeats = os.open(f"{path}.repeats", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def take(self, event_id: str, cursor: str) -> None:
        """Handle one event, unless it is there already."""
        if event_id in self._ids:
            os.write(self._repeats, b".")
            return
        os.write(self._out, f"{event_id} {cursor}\n".encode())
        self._ids.add(event_id)
        self.cursor = cursor


def replayed(book: Book, replay: str) -> None:
    """Handle what the log has behind the book's last event."""
    for event in events(replay, start=book.cursor, follow=False):
        book.take(event["id"], event["cursor"])


def read_replay(address: str, name: str, book: Book, replay: str) -> None:
    """The client library, which goes on by itself."""
    for event in events(replay, start=book.cursor):
        book.take(event["id"], event["cursor"])


def read_http(address: str, name: str, book: Book, replay: str) -> None:
    """Server-Sent Events; `name` is the file with the cookie."""
    import httpx

    while True:
        with contextlib.suppress(httpx.HTTPError, OSError):
            user, _, password = Path(name).read_text().partition(":")
            request = {"params": {"from": book.cursor}, "auth": (user, password), "timeout": 60}
            with httpx.stream("GET", f"http://{address}/v1/events", **request) as answer:  # type: ignore[arg-type]
                for line in answer.iter_lines():
                    if line.startswith("data: "):
                        message = orjson.loads(line[6:])
                        if "id" in message:
                            book.take(message["id"], message["cursor"])
        time.sleep(_RETRY_S)


def read_redis(address: str, name: str, book: Book, replay: str) -> None:
    """The stream from its beginning: Redis keeps it, the book knows what is new."""
    import redis

    last = "0"
    while True:
        with contextlib.suppress(redis.RedisError), redis.Redis.from_url(address, socket_timeout=5) as client:
            while True:
                for _, entries in client.xread({name: last}, 100, 1000):
                    for entry, fields in entries:
                        book.take(fields[b"id"].decode(), fields[b"cursor"].decode())
                        last = entry
        time.sleep(_RETRY_S)


def read_nats(address: str, name: str, book: Book, replay: str) -> None:
    """A durable consumer that says what it has handled, and gets the next one only then.

    Were more on their way, those that a killed reader left unsaid would come again behind later ones.
    """
    import nats

    one_by_one = nats.js.api.ConsumerConfig(max_ack_pending=1, ack_wait=2)

    async def follow() -> None:
        client = await nats.connect(address, allow_reconnect=False, error_cb=_silent)
        try:
            reader = await client.jetstream().pull_subscribe(f"{name}.>", "reader", name, config=one_by_one)
            while client.is_connected:
                with contextlib.suppress(nats.errors.TimeoutError):
                    for each in await reader.fetch(1, timeout=1):
                        about = each.headers or {}
                        book.take(about["Nats-Msg-Id"], about["Clarion-Cursor"])
                        await each.ack()
        finally:
            with contextlib.suppress(Exception):
                await client.close()

    _for_ever(follow, (nats.errors.Error, OSError, TimeoutError))


async def _silent(error: Exception) -> None:
    """Connections end in this test."""


def read_amqp(address: str, name: str, book: Book, replay: str) -> None:
    """A consumer that acknowledges."""
    import aio_pika

    async def follow() -> None:
        async with await aio_pika.connect(address) as connection:
            channel = await connection.channel()
            await channel.set_qos(prefetch_count=100)
            incoming = await channel.get_queue(name)
            async with incoming.iterator() as messages:
                async for each in messages:
                    book.take(str(each.message_id), str(each.headers["cursor"]))
                    await each.ack()

    _for_ever(follow, (aio_pika.exceptions.AMQPError, OSError))


def _for_ever(follow: Callable[[], Any], errors: tuple[type[Exception], ...]) -> None:
    while True:
        with contextlib.suppress(*errors):
            asyncio.run(follow())
        time.sleep(_RETRY_S)


def read_mqtt(address: str, name: str, book: Book, replay: str) -> None:
    """No session: at each connection, first subscribed, then what was missed from the log, then what came meanwhile."""
    from paho.mqtt.client import Client, MQTTv5
    from paho.mqtt.enums import CallbackAPIVersion

    parts = urlsplit(address)
    while True:
        came: queue.Queue[tuple[str, str] | None] = queue.Queue()
        client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)

        def on_message(_: Any, __: Any, message: Any, came: "queue.Queue[Any]" = came) -> None:
            about = dict(message.properties.UserProperty)
            came.put((about["id"], about["cursor"]))

        def on_end(*_: Any, came: "queue.Queue[Any]" = came) -> None:
            came.put(None)

        client.on_message = on_message
        client.on_disconnect = on_end
        client.on_connect = lambda client, *_: client.subscribe(name, 1)
        client.on_subscribe = lambda *_, came=came: came.put(("", ""))
        with contextlib.suppress(OSError):
            client.connect(str(parts.hostname), parts.port or 1883, keepalive=10)
            client.loop_start()
            _handle(book, iter(came.get, None), replay)
            client.loop_stop()
        time.sleep(_RETRY_S)


def _handle(book: Book, came: Iterator[tuple[str, str]], replay: str) -> None:
    """Handle events; an empty one says that the subscription stands, so that the log can fill what is missing."""
    for event_id, cursor in came:
        if event_id:
            book.take(event_id, cursor)
        else:
            replayed(book, replay)


def read_postgresql(address: str, name: str, book: Book, replay: str) -> None:
    """LISTEN, then what was missed from the log, then notifications."""
    import psycopg

    while True:
        with contextlib.suppress(psycopg.Error), psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"LISTEN {name}")
            replayed(book, replay)
            for each in connection.notifies():
                value = orjson.loads(each.payload)
                book.take(value["id"], value["cursor"])
        time.sleep(_RETRY_S)


def read_webhook(address: str, name: str, book: Book, replay: str) -> None:
    """A server that answers when it has written the event down."""
    from standardwebhooks import Webhook

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            event = Webhook(name).verify(body, dict(self.headers.items()))["data"]
            book.take(event["id"], event["cursor"])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    host, _, port = address.partition(":")
    ThreadingHTTPServer.allow_reuse_address = True
    ThreadingHTTPServer((host, int(port)), Handler).serve_forever()


def read_core(address: str, name: str, book: Book, replay: str) -> None:
    """Bitcoin Core's topic `sequence`: each message says that there is news, which the log tells whole.

    The client library fetches what a socket lost; what happened while nobody listened, the log knows.
    """

    def catch_up() -> None:
        replayed(book, replay)

    while True:
        with contextlib.suppress(StreamRefused):
            for _ in core_messages(address, ["sequence"], replay, on_connect=catch_up):
                catch_up()


READERS = {name.removeprefix("read_"): value for name, value in list(globals().items()) if name.startswith("read_")}


def _end_with(parent: int) -> None:
    """End the process when the test that started it is gone without a word."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def main() -> None:
    """Read until killed."""
    kind, address, name, path, replay = sys.argv[1:]
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    book = Book(Path(path))
    READERS[kind](address, name, book, replay)


if __name__ == "__main__":
    main()
