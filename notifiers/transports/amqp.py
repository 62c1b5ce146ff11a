"""`amqp://user:password@host:5672/vhost?exchange=…`: persistent messages to a RabbitMQ exchange, with confirms.

Owns: exchange and queue where they are missing, properties, and the connection. Never: consuming.
"""

import asyncio
import importlib.util
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from clarion.node.errors import DeliveryError
from clarion.notifiers.lanes.transport import Message, NotifyUrl, TransportKind, missing_library
from clarion.notifiers.transports.loop_thread import LoopThread

DEFAULT_EXCHANGE = "clarion"
DEFAULT_QUEUE = "clarion"
DEFAULT_PORT = 5672


class Amqp:
    """Publishes with the event's type as routing key. What no queue takes counts as not delivered."""

    def __init__(self, address: str, exchange: str, queue: str, timeout_s: float) -> None:
        """`queue`: a durable queue to bind to everything; nothing: queues are the operator's."""
        self._address = address
        self._exchange_name = exchange
        self._queue = queue
        self._timeout_s = timeout_s
        self._loop = LoopThread("amqp")
        self._connection: Any = None
        self._exchange: Any = None

    def open(self) -> None:
        """Do nothing: it connects with the first message."""

    def close(self) -> None:
        """Close the connection."""
        self._disconnect()
        self._loop.close()

    def send(self, messages: Sequence[Message]) -> None:
        """Publish the messages and return when the broker has confirmed each. Raises DeliveryError."""
        import aio_pika.exceptions

        try:
            results = self._loop.run(self._send(messages), self._timeout_s)
        except (aio_pika.exceptions.AMQPError, OSError, TimeoutError) as error:
            self._disconnect()
            raise DeliveryError(f"amqp: {_words(error)}") from None
        for count, result in enumerate(results):
            if isinstance(result, BaseException):
                # A new connection also makes anew what somebody has deleted.
                self._disconnect()
                raise DeliveryError(f"amqp: {_words(result)}", sent=count) from None

    async def _send(self, messages: Sequence[Message]) -> list[Any]:
        if self._connection is None or self._connection.is_closed:
            await self._connect()
        # Begun in order, so written in order; a broker that goes away has stored the first of them, not others.
        publishing = [asyncio.ensure_future(self._exchange.publish(_amqp(each), each.type)) for each in messages]
        return await asyncio.gather(*publishing, return_exceptions=True)

    async def _connect(self) -> None:
        import aio_pika
        from aio_pika.exceptions import ChannelClosed, ChannelNotFoundEntity

        self._connection = await aio_pika.connect(self._address, timeout=self._timeout_s)
        channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
        try:
            exchange = await channel.get_exchange(self._exchange_name, ensure=True)
        except (ChannelNotFoundEntity, ChannelClosed):
            channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
            exchange = await channel.declare_exchange(self._exchange_name, aio_pika.ExchangeType.TOPIC, durable=True)
        if self._queue:
            queue = await self._declare(channel)
            await queue.bind(exchange, "#")
        self._exchange = exchange

    async def _declare(self, channel: Any) -> Any:
        """Return the queue as it is, or a new one that is kept on disk."""
        from aio_pika.exceptions import ChannelClosed, ChannelNotFoundEntity

        looking = await self._connection.channel()
        try:
            await looking.get_queue(self._queue, ensure=True)
        except (ChannelNotFoundEntity, ChannelClosed):
            return await channel.declare_queue(self._queue, durable=True, arguments={"x-queue-type": "quorum"})
        await looking.close()
        return await channel.get_queue(self._queue, ensure=False)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                self._loop.run(connection.close(), self._timeout_s)
            except Exception:
                # Whatever state the library is in, the next message gets a connection of its own.
                self._loop.close()


def _amqp(message: Message) -> Any:
    import aio_pika

    return aio_pika.Message(
        message.body,
        message_id=message.id,
        type=message.type,
        content_type=message.content_type,
        timestamp=datetime.fromtimestamp(message.time, UTC),
        headers={"cursor": message.cursor},
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        app_id="clarion",
    )


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _make(url: NotifyUrl) -> Amqp:
    if importlib.util.find_spec("aio_pika") is None:
        raise missing_library(url, "amqp")
    url.host()
    url.port(DEFAULT_PORT)
    return Amqp(url.endpoint(), url.text("exchange", DEFAULT_EXCHANGE), url.text("queue", DEFAULT_QUEUE), url.timeout_s)


# A queue that is full may refuse one message and take the next (`reject-publish`), which would then pass it.
KIND = TransportKind(("amqp", "amqps"), _make, frozenset(("exchange", "queue")), batch=1)
