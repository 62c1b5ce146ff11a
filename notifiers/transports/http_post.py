"""Posting to a URL that must stay on the internet, through redirects too.

Owns: the connection, its time limit, redirects. Never: what is sent, what an answer means.
The address is resolved and judged once, and that very address is connected to: a name that changes in between
(rebinding) gains nothing.
"""

import http.client
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from clarion.node.errors import DeliveryError
from clarion.notifiers.transports.public_address import resolve

MAX_ANSWER_BYTES = 1 << 16
_KEPT_METHOD = (307, 308)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a receiver said."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes
    """The first 64 KiB."""


class _Checked(http.client.HTTPConnection):
    """A connection to an address that was judged, whatever the name says by now."""

    def __init__(self, host: str, port: int, address: str, context: ssl.SSLContext | None, timeout_s: float) -> None:
        super().__init__(host, port, timeout=timeout_s)
        self.default_port = 80 if context is None else 443
        self._address = address
        self._context = context

    def connect(self) -> None:
        name, self.host = self.host, self._address
        try:
            super().connect()
        finally:
            self.host = name
        if self._context is not None:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=name)


class HttpPoster:
    """Posts to one URL and keeps the connection open between messages. Used by one thread."""

    def __init__(
        self, url: SplitResult, context: ssl.SSLContext, timeout_s: float, *, allow_private: bool, redirects: int = 0
    ) -> None:
        """`url` has scheme http or https and a host; `redirects`: so many are followed, those that keep the method."""
        self._redirects = redirects
        self._url = url
        self._context = context
        self._timeout_s = timeout_s
        self._allow_private = allow_private
        self._kept: _Checked | None = None

    def post(self, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Return the answer, behind the redirects that are followed. Raises DeliveryError."""
        url = self._url
        for _ in range(self._redirects + 1):
            answer = self._post(url, body, headers)
            if not self._redirects or answer.status not in _KEPT_METHOD or "location" not in answer.headers:
                return answer
            following = urlsplit(urljoin(url.geturl(), answer.headers["location"]))
            if following.scheme not in ("https", url.scheme) or not following.hostname:
                raise DeliveryError(f"redirected to {following.scheme or 'nowhere'}, which is not as safe")
            url = following
        raise DeliveryError(f"more than {self._redirects} redirects")

    def close(self) -> None:
        """Close the connection."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _post(self, url: SplitResult, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        is_own, was_kept = url == self._url, self._kept is not None
        connection = self._kept if is_own and self._kept is not None else self._connect(url)
        self._kept = None if is_own else self._kept
        late = threading.Event()
        watchdog = threading.Timer(self._timeout_s, _cut, (connection, late))
        watchdog.daemon = True
        watchdog.start()
        try:
            target = (url.path or "/") + (f"?{url.query}" if url.query else "")
            connection.request("POST", target, body, dict(headers))
            answer = connection.getresponse()
            found = HttpAnswer(
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read(MAX_ANSWER_BYTES),
            )
            reusable = is_own and answer.isclosed() and connection.sock is not None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if is_own and was_kept and not isinstance(error, TimeoutError) and not late.is_set():
                return self._post(url, body, headers)  # the receiver had closed a connection that was idle
            raise DeliveryError(f"{url.hostname}: {_words(error, self._timeout_s, late)}") from None
        finally:
            watchdog.cancel()
        if reusable:
            self._kept = connection
        else:
            connection.close()
        return found

    def _connect(self, url: SplitResult) -> _Checked:
        assert url.hostname is not None
        secure = url.scheme == "https"
        try:
            port = url.port or (443 if secure else 80)
        except ValueError:
            raise DeliveryError("the port is no number up to 65535") from None
        addresses = resolve(url.hostname, port, allow_private=self._allow_private)
        context = self._context if secure else None
        for address in addresses:
            connection = _Checked(url.hostname, port, address, context, self._timeout_s)
            try:
                connection.connect()
            except OSError as error:
                connection.close()
                if address == addresses[-1]:
                    raise DeliveryError(f"{url.hostname} ({address}): {error.strerror or error}") from None
            else:
                return connection
        raise DeliveryError(f"{url.hostname}: it has no address")


def _cut(connection: _Checked, late: threading.Event) -> None:
    """End a connection whose other side keeps it busy without coming to an end."""
    late.set()  # before the cut, which the thread that waits hears of at once
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(2)


def _words(error: Exception, timeout_s: float, late: threading.Event) -> str:
    if isinstance(error, TimeoutError) or late.is_set():
        return f"no answer within {timeout_s:g} s"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
