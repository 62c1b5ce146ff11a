"""`kafka://host:9092,host:9092/topic`: records of an Apache Kafka topic.

Owns: key, headers, and the producer. Never: topics' settings.
All records of a log have one key, so they lie in one partition, in order. The producer is idempotent: what it repeats by
itself is stored once.
"""

import asyncio
import importlib.util
from collections.abc import Sequence
from typing import Any

from clarion.node.errors import ConfigError, DeliveryError
from clarion.notifiers.lanes.transport import Message, NotifyUrl, TransportKind, missing_library
from clarion.notifiers.transports.loop_thread import LoopThread

DEFAULT_TOPIC = "clarion.events"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class Kafka:
    """Produces to one topic; a record counts as delivered when all replicas in sync have it."""

    def __init__(self, servers: Sequence[str], topic: str, timeout_s: float, security: dict[str, Any]) -> None:
        self._servers = list(servers)
        self._topic = topic
        self._timeout_s = timeout_s
        self._security = security
        self._loop = LoopThread("kafka")
        self._producer: Any = None

    def open(self) -> None:
        """Do nothing: it connects with the first message."""

    def close(self) -> None:
        """Close the producer."""
        self._disconnect()
        self._loop.close()

    def send(self, messages: Sequence[Message]) -> None:
        """Produce the messages and return when the brokers have each. Raises DeliveryError."""
        from aiokafka.errors import KafkaError, MessageSizeTooLargeError

        try:
            results = self._loop.run(self._send(messages), self._timeout_s)
        except (KafkaError, OSError, TimeoutError) as error:
            self._disconnect()
            raise DeliveryError(f"kafka: {error or type(error).__name__}") from None
        for count, result in enumerate(results):
            if isinstance(result, BaseException):
                permanent = isinstance(result, MessageSizeTooLargeError)
                if not permanent:
                    self._disconnect()
                raise DeliveryError(f"kafka: {result or type(result).__name__}", sent=count, permanent=permanent)

    async def _send(self, messages: Sequence[Message]) -> list[Any]:
        if self._producer is None:
            await self._connect()
        waiting = []
        for each in messages:
            about = (("id", each.id), ("type", each.type), ("cursor", each.cursor), ("content-type", each.content_type))
            headers = [(name, value.encode()) for name, value in about]
            key = each.id.partition(".")[0].encode()
            time_ms = each.time * 1000
            try:
                waiting.append(
                    await self._producer.send(self._topic, each.body, key, headers=headers, timestamp_ms=time_ms)
                )
            except Exception as error:
                # What follows must not pass it.
                failed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                failed.set_exception(error)
                waiting.append(failed)
                break
        return await asyncio.gather(*waiting, return_exceptions=True)

    async def _connect(self) -> None:
        from aiokafka import AIOKafkaProducer

        producer = AIOKafkaProducer(
            bootstrap_servers=self._servers,
            client_id="clarion",
            acks="all",
            enable_idempotence=True,
            request_timeout_ms=int(self._timeout_s * 1000),
            **self._security,
        )
        try:
            await producer.start()
        except BaseException:
            await producer.stop()
            raise
        self._producer = producer

    def _disconnect(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            try:
                self._loop.run(producer.stop(), self._timeout_s)
            except Exception:
                # Whatever state the library is in, the next message gets a producer of its own.
                self._loop.close()


def _make(url: NotifyUrl) -> Kafka:
    if importlib.util.find_spec("aiokafka") is None:
        raise missing_library(url, "kafka")
    servers = [word for word in url.parts.netloc.rpartition("@")[2].split(",") if word]
    if not servers:
        raise ConfigError(f"-notify={url.shown}: at least one server is needed")
    topic = url.path.strip("/") or DEFAULT_TOPIC
    return Kafka(servers, topic, url.timeout_s, _security(url))


def _security(url: NotifyUrl) -> dict[str, Any]:
    """Return the producer's arguments for encryption and log-in."""
    encrypted = url.parts.scheme == "kafkas"
    found: dict[str, Any] = {}
    user, _, password = url.parts.netloc.rpartition("@")[0].partition(":")
    mechanism = url.text("mechanism", MECHANISMS[0])
    if mechanism not in MECHANISMS:
        raise ConfigError(f"-notify={url.shown}: mechanism={mechanism}: {', '.join(MECHANISMS)} expected")
    if user:
        found |= {"sasl_mechanism": mechanism, "sasl_plain_username": user, "sasl_plain_password": password}
    if encrypted:
        from aiokafka.helpers import create_ssl_context

        found["ssl_context"] = create_ssl_context(cafile=url.settings.get("cafile"))
    names = {
        (False, False): "PLAINTEXT",
        (True, False): "SSL",
        (False, True): "SASL_PLAINTEXT",
        (True, True): "SASL_SSL",
    }
    return found | {"security_protocol": names[encrypted, bool(user)]}


KIND = TransportKind(("kafka", "kafkas"), _make, frozenset(("mechanism", "cafile")))
