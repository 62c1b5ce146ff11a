"""Readers of the servers that transports deliver to: what a subscriber of each would see.

Owns: addresses (environment variables name others), names of their own for each test, reading, cleaning up. Never:
asserting. `broker(kind)` skips the test where no server answers.
"""

import asyncio
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

DEFAULTS = {
    "redis": "redis://127.0.0.1:6379/0",
    "nats": "nats://127.0.0.1:4222",
    "amqp": "amqp://guest:guest@127.0.0.1:5672",
    "mqtt": "mqtt://127.0.0.1:1883",
    "postgresql": "postgresql://127.0.0.1:5432/test",
    "kafka": "kafka://127.0.0.1:9092",
}
"""Where the servers are looked for; CLARION_TEST_REDIS and so on name others."""

KINDS = tuple(DEFAULTS)
READ_S = 20.0


@dataclass(frozen=True)
class Received:
    """One message as a subscriber got it."""

    id: str
    type: str
    cursor: str
    body: bytes


@dataclass(frozen=True)
class Broker:
    """A place of its own on one server. `read(count)` returns so many messages, fewer if no more come in time."""

    url: str
    """For -notify; settings are joined by `&`."""
    read: Callable[[int], list[Received]]


def address_of(kind: str) -> str:
    """Return where the server of a kind is."""
    return os.environ.get(f"CLARION_TEST_{kind.upper()}", DEFAULTS[kind])


@contextmanager
def broker(kind: str, address: str = "", name: str = "") -> Iterator[Broker]:
    """A place on a server of this kind, at an address of the test's own or the usual one. Skips without a server."""
    where = address or address_of(kind)
    parts = urlsplit(where)
    try:
        socket.create_connection((parts.hostname, parts.port), 3).close()
    except OSError as error:
        pytest.skip(f"no server answers at {parts.scheme}://{parts.hostname}:{parts.port}: {error.strerror}")
    with _MAKERS[kind](where, name or f"clarion-test-{secrets.token_hex(6)}") as found:
        yield found


@contextmanager
def _redis(address: str, name: str) -> Iterator[Broker]:
    redis = pytest.importorskip("redis")
    with redis.Redis.from_url(address) as client:

        def read(count: int) -> list[Received]:
            found: list[Received] = []
            last, deadline = "0", time.monotonic() + READ_S
            while len(found) < count and time.monotonic() < deadline:
                for _, entries in client.xread({name: last}, count, 500):
                    for entry, fields in entries:
                        last = entry
                        about = [fields[each].decode() for each in (b"id", b"type", b"cursor")]
                        found.append(Received(about[0], about[1], about[2], fields[b"data"]))
            return found

        try:
            yield Broker(f"{address}?stream={name}", read)
        finally:
            client.delete(name)


@contextmanager
def _nats(address: str, name: str) -> Iterator[Broker]:
    nats = pytest.importorskip("nats")
    subject = name.replace("-", ".")

    async def fetch(count: int) -> list[Received]:
        client = await nats.connect(address)
        found: list[Received] = []
        try:
            reader = await client.jetstream().pull_subscribe(f"{subject}.>", stream=name)
            while len(found) < count:
                for each in await reader.fetch(min(count - len(found), 256), timeout=READ_S):
                    found.append(
                        Received(
                            each.headers["Nats-Msg-Id"],
                            each.headers["Clarion-Type"],
                            each.headers["Clarion-Cursor"],
                            each.data,
                        )
                    )
                    await each.ack()
        except nats.errors.TimeoutError:
            pass
        finally:
            await client.close()
        return found

    async def clean() -> None:
        client = await nats.connect(address)
        try:
            await client.jetstream().delete_stream(name)
        except nats.js.errors.NotFoundError:
            pass
        finally:
            await client.close()

    try:
        yield Broker(f"{address}/{subject}?stream={name}", lambda count: asyncio.run(fetch(count)))
    finally:
        asyncio.run(clean())


@contextmanager
def _amqp(address: str, name: str) -> Iterator[Broker]:
    aio_pika = pytest.importorskip("aio_pika")

    async def fetch(count: int) -> list[Received]:
        found: list[Received] = []
        async with await aio_pika.connect(address) as connection:
            channel = await connection.channel()
            queue = await channel.get_queue(name)
            deadline = time.monotonic() + READ_S
            while len(found) < count and time.monotonic() < deadline:
                each = await queue.get(no_ack=True, fail=False)
                if each is None:
                    await asyncio.sleep(0.02)
                else:
                    found.append(Received(each.message_id, each.type, each.headers["cursor"], each.body))
        return found

    async def clean() -> None:
        async with await aio_pika.connect(address) as connection:
            channel = await connection.channel()
            await channel.queue_delete(name)
            await channel.exchange_delete(name)

    try:
        yield Broker(f"{address}?exchange={name}&queue={name}", lambda count: asyncio.run(fetch(count)))
    finally:
        asyncio.run(clean())


@contextmanager
def _mqtt(address: str, name: str) -> Iterator[Broker]:
    client_module = pytest.importorskip("paho.mqtt.client")
    from paho.mqtt.enums import CallbackAPIVersion

    parts, topic = urlsplit(address), f"clarion/test/{name}"
    found: list[Received] = []
    subscribed = threading.Event()
    client = client_module.Client(CallbackAPIVersion.VERSION2, protocol=client_module.MQTTv5)

    def on_message(_: Any, __: Any, message: Any) -> None:
        about = dict(message.properties.UserProperty)
        found.append(Received(about["id"], about["type"], about["cursor"], message.payload))

    client.on_message = on_message
    client.on_connect = lambda *_: client.subscribe(topic, 1)
    client.on_subscribe = lambda *_: subscribed.set()
    client.connect(parts.hostname, parts.port)
    client.loop_start()
    assert subscribed.wait(READ_S)
    try:
        yield Broker(f"{address}/{topic}", lambda count: _wait_for(found, count))
    finally:
        client.disconnect()
        client.loop_stop()


def _wait_for(found: list[Received], count: int) -> list[Received]:
    """Return what has come; messages are pushed to this reader, so it waits until there are enough."""
    deadline = time.monotonic() + READ_S
    while len(found) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    return found[:count]


@contextmanager
def _postgresql(address: str, name: str) -> Iterator[Broker]:
    psycopg = pytest.importorskip("psycopg")
    channel = name.replace("-", "_")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"LISTEN {channel}")

        def read(count: int) -> list[Received]:
            found = []
            for each in connection.notifies(timeout=READ_S, stop_after=count):
                value = orjson.loads(each.payload)
                found.append(Received(value["id"], value["type"], value["cursor"], each.payload.encode()))
            return found[:count]

        yield Broker(f"{address}?channel={channel}", read)


@contextmanager
def _kafka(address: str, name: str) -> Iterator[Broker]:
    aiokafka = pytest.importorskip("aiokafka")
    servers = urlsplit(address).netloc

    async def fetch(count: int) -> list[Received]:
        consumer = aiokafka.AIOKafkaConsumer(name, bootstrap_servers=servers, auto_offset_reset="earliest")
        await consumer.start()
        found: list[Received] = []
        try:
            deadline = time.monotonic() + READ_S
            while len(found) < count and time.monotonic() < deadline:
                for records in (await consumer.getmany(timeout_ms=500)).values():
                    for record in records:
                        about = {key: value.decode() for key, value in record.headers}
                        found.append(Received(about["id"], about["type"], about["cursor"], record.value))
        finally:
            await consumer.stop()
        return found

    yield Broker(f"{address}/{name}", lambda count: asyncio.run(fetch(count)))


_MAKERS: dict[str, Any] = {
    "redis": _redis,
    "nats": _nats,
    "amqp": _amqp,
    "mqtt": _mqtt,
    "postgresql": _postgresql,
    "kafka": _kafka,
}
