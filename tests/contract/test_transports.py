"""One suite for every transport to a server: order, identity, nothing lost, and what is said when the server is away."""

import asyncio
import importlib
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

import pytest

from clarion.node.errors import ConfigError, DeliveryError
from clarion.notifiers.lanes.transport import Message, NotifyUrl, Transport, TransportKind
from helpers.brokers import DEFAULTS, KINDS, Broker, address_of, broker
from helpers.lane_bench import messages, url_of
from helpers.node import free_port

MODULES = {
    "redis": "redis_streams",
    "nats": "nats_jetstream",
    "amqp": "amqp",
    "mqtt": "mqtt",
    "postgresql": "postgres_notify",
    "kafka": "kafka",
}
LIBRARIES = {"nats": "nats", "amqp": "aio_pika", "mqtt": "paho", "postgresql": "psycopg", "kafka": "aiokafka"}
BODIES = {"postgresql": False}
"""Transports that carry the identity only."""


def _kind(kind: str) -> TransportKind:
    found: TransportKind = importlib.import_module(f"clarion.notifiers.transports.{MODULES[kind]}").KIND
    return found


def _transport(kind: str, url: str, timeout_s: float = 10.0) -> Transport:
    pytest.importorskip(LIBRARIES.get(kind, kind))
    parts = urlsplit(url)
    made = _kind(kind).make(NotifyUrl(parts, dict(parse_qsl(parts.query)), timeout_s))
    made.open()
    return made


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The transport."""
    return str(request.param)


@pytest.fixture
def place(kind: str) -> Iterator[Broker]:
    """A place of the test's own on a real server."""
    with broker(kind) as found:
        yield found


@pytest.fixture
def transport(kind: str, place: Broker) -> Iterator[Transport]:
    """The transport to it."""
    made = _transport(kind, place.url)
    yield made
    made.close()


def _numbered(count: int, first: int = 1) -> list[Message]:
    return [
        Message(each.id, each.cursor, each.type, each.time, b'{"n":%d}' % number)
        for number, each in enumerate(messages(count, first), first)
    ]


def test_messages_arrive_in_order_with_their_identity(kind: str, place: Broker, transport: Transport) -> None:
    sent = _numbered(300)
    for start in range(0, 300, 100):
        transport.send(sent[start : start + 100])
    got = place.read(300)
    assert [(each.id, each.type, each.cursor) for each in got] == [(each.id, each.type, each.cursor) for each in sent]
    if BODIES.get(kind, True):
        assert [each.body for each in got] == [each.body for each in sent]


def test_a_repeat_is_dropped_or_has_the_same_identity(kind: str, place: Broker, transport: Transport) -> None:
    transport.send(_numbered(3))
    transport.send(_numbered(4))
    told = [each.id for each in place.read(4 if kind == "nats" else 7)]
    ids = [each.id for each in _numbered(4)]
    assert told == (ids if kind == "nats" else ids[:3] + ids)


def test_a_transport_that_was_closed_by_a_failure_connects_again(
    kind: str, place: Broker, transport: Transport
) -> None:
    transport.send(_numbered(1))
    transport.close()
    again = _transport(kind, place.url)
    again.send(_numbered(2, 2))
    again.close()
    assert [each.id for each in place.read(3)] == [each.id for each in _numbered(3)]


def test_a_server_that_is_away_is_an_error_to_be_tried_again(kind: str) -> None:
    parts = urlsplit(DEFAULTS[kind])
    host = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    made = _transport(kind, parts._replace(netloc=f"{host}127.0.0.1:{free_port()}").geturl(), 2.0)
    for _ in range(2):
        with pytest.raises(DeliveryError) as caught:
            made.send(_numbered(2))
        assert (caught.value.sent, caught.value.permanent, caught.value.ends_lane) == (0, False, False)
        assert str(caught.value)
    made.close()


def test_a_message_that_nats_never_takes_is_given_up() -> None:
    with broker("nats") as place:
        made = _transport("nats", place.url)
        large = messages(1, 2, b"x" * (9 << 20))
        with pytest.raises(DeliveryError, match="max_payload") as caught:
            made.send([*_numbered(1), *large, *_numbered(1, 3)])
        assert (caught.value.sent, caught.value.permanent) == (1, True)
        made.send(_numbered(1, 3))
        made.close()
        assert [each.id for each in place.read(2)] == [_numbered(3)[0].id, _numbered(3)[2].id]


def test_what_no_queue_of_rabbitmq_takes_is_not_delivered_and_the_queue_is_made_anew() -> None:
    aio_pika = pytest.importorskip("aio_pika")

    async def delete(queue: str) -> None:
        async with await aio_pika.connect(address_of("amqp")) as connection:
            await (await connection.channel()).queue_delete(queue)

    with broker("amqp") as place:
        made = _transport("amqp", place.url)
        made.send(_numbered(1))
        asyncio.run(delete(place.url.rpartition("=")[2]))
        with pytest.raises(DeliveryError, match="amqp: "):
            made.send(_numbered(2))
        made.send(_numbered(2))
        made.close()
        assert [each.id for each in place.read(2)] == [each.id for each in _numbered(2)]


@pytest.mark.parametrize(
    ("name", "url", "message"),
    [
        ("redis", "redis:///0", "a host is missing"),
        ("redis", "redis://h/abc", "the path is the number of a database"),
        ("redis", "redis://h/0?maxlen=-1", "maxlen=-1"),
        ("nats", "nats://h/a b", "words with dots between them are a subject"),
        ("nats", "nats://h/a?stream=a.b", "one word is a stream"),
        ("amqp", "amqp://h:99999999", "the port is no number"),
        ("mqtt", "mqtt://h/a/#", "no wildcards"),
        ("mqtt", "mqtt://h/a/+", "no wildcards"),
        ("postgresql", "postgresql://h/d?channel=a b", "a name of up to 63 letters"),
        ("kafka", "kafka:///topic", "at least one server is needed"),
        ("kafka", "kafka://h/topic?mechanism=X", "mechanism=X: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 expected"),
    ],
)
def test_an_address_that_makes_no_sense_stops_the_start(name: str, url: str, message: str) -> None:
    parts = urlsplit(url.replace("#", "%23"))
    with pytest.raises(ConfigError, match=message.replace("+", r"\+")):
        _kind(name).make(NotifyUrl(parts, dict(parse_qsl(parts.query))))


def test_a_missing_library_is_named_with_the_way_to_install_it(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"install it with: pip install 'clarion\[\w+\]'"):
        _kind(kind).make(url_of(DEFAULTS[kind]))
