"""`redis://host:6379/0?stream=…`: entries of a Redis stream.

Owns: the entries' fields, and the connection. Never: consumer groups, which are the reader's.
A batch is one MULTI, so it is there whole or not at all, in order.
"""

import importlib.util
from collections.abc import Sequence
from typing import Any

from clarion.node.errors import ConfigError, DeliveryError
from clarion.notifiers.lanes.transport import Message, NotifyUrl, TransportKind, missing_library

DEFAULT_STREAM = "clarion:events"
DEFAULT_PORT = 6379


class RedisStream:
    """Appends to one stream: fields `id`, `type`, `cursor`, `data`."""

    def __init__(self, address: str, stream: str, max_length: int, timeout_s: float) -> None:
        """`max_length`: about how many entries the stream keeps; 0: all."""
        self._address = address
        self._stream = stream
        self._max_length = max_length or None
        self._timeout_s = timeout_s
        self._client: Any = None

    def open(self) -> None:
        """Make the client, which connects later."""
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        # The lane tries again by itself: a library that does so too would only hide an outage.
        self._client = redis.Redis.from_url(
            self._address,
            socket_timeout=self._timeout_s,
            socket_connect_timeout=self._timeout_s,
            retry=Retry(NoBackoff(), 0),
        )

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()

    def send(self, messages: Sequence[Message]) -> None:
        """Append the messages in one transaction. Raises DeliveryError."""
        import redis

        pipe = self._client.pipeline(transaction=True)
        for each in messages:
            fields = {"id": each.id, "type": each.type, "cursor": each.cursor, "data": each.body}
            pipe.xadd(self._stream, fields, maxlen=self._max_length, approximate=True)
        try:
            pipe.execute()
        except redis.RedisError as error:
            raise DeliveryError(f"redis: {error}") from None


def _make(url: NotifyUrl) -> RedisStream:
    if importlib.util.find_spec("redis") is None:
        raise missing_library(url, "redis")
    url.host()
    url.port(DEFAULT_PORT)
    number = url.path.strip("/")
    if number and not (number.isascii() and number.isdigit()):
        raise ConfigError(f"-notify={url.shown}: the path is the number of a database, /0 for the first")
    stream = url.text("stream", DEFAULT_STREAM)
    return RedisStream(url.endpoint(), stream, url.number("maxlen", 0), url.timeout_s)


KIND = TransportKind(("redis", "rediss"), _make, frozenset(("stream", "maxlen")), batch=200)
