"""`nats://host:4222/subject?stream=…`: messages of a NATS JetStream stream.

Owns: subjects, headers, the stream if there is none yet, and the connection. Never: consumers.
The message's id is the event's, so JetStream drops repeats within its window. Each message waits for the one before it
to be stored: one that came out of order would stay so, since its repeat is dropped.
"""

import importlib.util
import re
from collections.abc import Sequence
from typing import Any

from clarion.node.errors import ConfigError, DeliveryError
from clarion.notifiers.lanes.transport import Message, NotifyUrl, TransportKind, missing_library
from clarion.notifiers.transports.loop_thread import LoopThread

DEFAULT_SUBJECT = "clarion.events"
DEFAULT_STREAM = "CLARION"
DEFAULT_PORT = 4222
DEFAULT_WINDOW_S = 120
_SUBJECT = re.compile(r"[^\s.*>]+(\.[^\s.*>]+)*")
_STREAM = re.compile(r"[^\s.*>/\\]+")


class JetStream:
    """Publishes to `<subject>.<type of event>`, so that readers can choose types."""

    def __init__(self, address: str, subject: str, stream: str, window_s: int, timeout_s: float) -> None:
        """`window_s`: within so many seconds a new stream drops repeats."""
        self._address = address
        self._subject = subject
        self._stream = stream
        self._window_s = window_s
        self._timeout_s = timeout_s
        self._loop = LoopThread("nats")
        self._client: Any = None
        self._stream_api: Any = None

    def open(self) -> None:
        """Do nothing: it connects with the first message."""

    def close(self) -> None:
        """Close the connection."""
        self._disconnect()
        self._loop.close()

    def send(self, messages: Sequence[Message]) -> None:
        """Publish the messages, each when the one before it is stored. Raises DeliveryError."""
        import nats.errors

        sent: list[Message] = []
        try:
            # One message may take the whole time; the loop bounds each.
            self._loop.run(self._send(messages, sent), self._timeout_s * (len(messages) + 2))
        except nats.errors.MaxPayloadError:
            text = f"nats: {len(messages[len(sent)].body)} bytes are more than the server takes (max_payload)"
            raise DeliveryError(text, sent=len(sent), permanent=True) from None
        except (nats.errors.Error, OSError, TimeoutError) as error:
            self._disconnect()
            raise DeliveryError(f"nats: {error or type(error).__name__}", sent=len(sent)) from None

    async def _send(self, messages: Sequence[Message], sent: list[Message]) -> None:
        if self._client is None or not self._client.is_connected:
            await self._connect()
        for each in messages:
            headers = {
                "Nats-Msg-Id": each.id,
                "Clarion-Type": each.type,
                "Clarion-Cursor": each.cursor,
                "Content-Type": each.content_type,
            }
            await self._stream_api.publish(
                f"{self._subject}.{each.type}", each.body, timeout=self._timeout_s, stream=self._stream, headers=headers
            )
            sent.append(each)

    async def _connect(self) -> None:
        import nats
        from nats.js.api import StreamConfig
        from nats.js.errors import NotFoundError

        async def ignore(*_: object) -> None:
            """Failures are noticed by the messages that they befall."""

        self._client = await nats.connect(
            self._address,
            name="clarion",
            connect_timeout=max(1, int(self._timeout_s)),
            allow_reconnect=False,
            error_cb=ignore,
            disconnected_cb=ignore,
            closed_cb=ignore,
        )
        self._stream_api = self._client.jetstream(timeout=self._timeout_s)
        try:
            await self._stream_api.stream_info(self._stream)
        except NotFoundError:
            subjects = [f"{self._subject}.>"]
            await self._stream_api.add_stream(
                StreamConfig(name=self._stream, subjects=subjects, duplicate_window=self._window_s)
            )

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            try:
                self._loop.run(client.close(), self._timeout_s)
            except Exception:
                # Whatever state the library is in, the next message gets a connection of its own.
                self._loop.close()


def _make(url: NotifyUrl) -> JetStream:
    if importlib.util.find_spec("nats") is None:
        raise missing_library(url, "nats")
    url.host()
    url.port(DEFAULT_PORT)
    subject = url.path.strip("/") or DEFAULT_SUBJECT
    stream = url.text("stream", DEFAULT_STREAM)
    if not _SUBJECT.fullmatch(subject) or not _STREAM.fullmatch(stream):
        raise ConfigError(f"-notify={url.shown}: words with dots between them are a subject, one word is a stream")
    address = url.parts._replace(path="", query="").geturl()
    return JetStream(address, subject, stream, url.number("window", DEFAULT_WINDOW_S, 1), url.timeout_s)


KIND = TransportKind(("nats", "tls"), _make, frozenset(("stream", "window")))
