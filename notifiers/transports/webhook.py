"""`webhook+https://…`: each event is posted, signed by the Standard Webhooks specification.

Owns: the payload, and what an answer means. Never: keys (`webhook_signatures`), connections (`http_post`).
"""

import importlib.util
import math
import ssl
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clarion import __version__
from clarion.node.errors import ConfigError, DeliveryError
from clarion.notifiers.lanes.transport import Message, NotifyUrl, Transport, TransportKind, missing_library
from clarion.notifiers.transports.http_post import HttpAnswer, HttpPoster

if TYPE_CHECKING:
    from clarion.notifiers.transports.webhook_signatures import KeyRing

RETRY_S = (5.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)
"""The specification's example: ten attempts over three days."""

TIMEOUT_S = 20.0
SLOW_DOWN_S = 30.0
"""The pause after 429, 502, 503 and 504 where the receiver names none."""

MAX_RETRY_AFTER_S = 86_400.0
_GONE = 410
_SLOW_DOWN = frozenset((429, 502, 503, 504))


class Webhook:
    """Posts one message at a time. Any status from 200 to 299 means delivered; 410 ends the lane."""

    def __init__(self, poster: HttpPoster, keys: "KeyRing") -> None:
        self._poster = poster
        self._keys = keys

    def open(self) -> None:
        """Read the keys. Raises ConfigError."""
        self._keys.read()

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()

    def send(self, messages: Sequence[Message]) -> None:
        """Post the messages in turn. Raises DeliveryError with how many were taken before."""
        for count, message in enumerate(messages):
            try:
                self._send(message)
            except DeliveryError as error:
                error.sent = count
                raise

    def _send(self, message: Message) -> None:
        body = payload(message)
        # The time of the attempt, so that an attempt of tomorrow is not refused as a replay of today.
        headers = self._keys.headers(message.id, int(time.time()), body.decode())
        about = {"content-type": "application/json", "user-agent": f"clarion/{__version__}"}
        answer = self._poster.post(body, about | headers)
        if 200 <= answer.status < 300:
            return
        text = f"status {answer.status}"
        if answer.status == _GONE:
            raise DeliveryError(f"{text}: the receiver wants nothing more", ends_lane=True)
        raise DeliveryError(text, retry_after_s=retry_after_s(answer, time.time()))


def payload(message: Message) -> bytes:
    """Return the body: the specification's `type`, `timestamp` and `data`, which is the event."""
    when = datetime.fromtimestamp(message.time, UTC).isoformat().replace("+00:00", "Z")
    return b'{"type":"%b","timestamp":"%b","data":%b}' % (message.type.encode(), when.encode(), message.body)


def retry_after_s(answer: HttpAnswer, now: float) -> float | None:
    """Return the least pause that an answer asks for, in seconds; `now` in Unix seconds. Never more than a day."""
    text = answer.headers.get("retry-after")
    default = SLOW_DOWN_S if answer.status in _SLOW_DOWN else None
    if text is None:
        return default
    try:
        seconds = float(text) if text.strip().isdigit() else parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError):
        return default
    return min(max(0.0, seconds), MAX_RETRY_AFTER_S) if math.isfinite(seconds) else default


def _make(url: NotifyUrl) -> Transport:
    if importlib.util.find_spec("standardwebhooks") is None:
        raise missing_library(url, "webhooks")
    from clarion.notifiers.transports.webhook_signatures import KeyRing, read_key

    url.host()
    url.port(443)
    if url.parts.username is not None:
        raise ConfigError(f"-notify={url.shown}: a webhook is known by its signature, not by user and password")
    path, words = url.settings.get("secretfile"), [word for word in url.text("secret", "").split(",") if word]
    if (path is None) == (not words):
        raise ConfigError(f"-notify={url.shown}: either secret= or secretfile= is needed")
    try:
        keys = KeyRing([read_key(word) for word in words], None if path is None else Path(path))
        keys.read()
    except ConfigError as error:
        raise ConfigError(f"-notify={url.shown}: {error}") from None
    target = urlsplit(url.endpoint(url.parts.scheme.removeprefix("webhook+")))
    target = target._replace(query=url.text("query", ""))
    poster = HttpPoster(
        target, _tls(url), url.timeout_s, allow_private=url.flag("private"), redirects=url.number("redirects", 0)
    )
    return Webhook(poster, keys)


def _tls(url: NotifyUrl) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=url.settings.get("cafile"))
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"-notify={url.shown}: cafile={url.settings.get('cafile')}: {error}") from None


KIND = TransportKind(
    ("webhook+https", "webhook+http"),
    _make,
    frozenset(("secret", "secretfile", "query", "cafile", "private", "redirects")),
    batch=1,
    retry_s=RETRY_S,
    attempts=len(RETRY_S) + 1,
    timeout_s=TIMEOUT_S,
    encodings=("json",),
)
