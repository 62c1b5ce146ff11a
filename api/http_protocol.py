"""One client's connection: uvicorn's HTTP/1.1 with the limits that protect the server from it.

Owns: how many there may be, how long a request's head may be, how long a client may take to send a request, and that an
answer's head and body leave together. Never: requests' meaning.
"""

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MAX_HEAD_BYTES = 8192
"""Request line and headers together, as in the reference; a client that sends more gets a 400."""

JOINED_BYTES = 65536
"""So much of a body is copied behind the head; what is longer takes a client several reads anyway."""


MAX_CONNECTIONS = 10_000
"""Connections that a process holds open at most."""

RESERVED_DESCRIPTORS = 256
"""What the system allows a process to open, less this, is for clients; the rest is for databases and block files."""

_FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"

_BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/html; charset=ISO-8859-1\r\n"
    b"content-length: 0\r\n\r\n"
)


def max_connections() -> int:
    """Return how many connections this process may hold open."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, allowed - RESERVED_DESCRIPTORS))


class BadHead(Exception):
    """The parser hands it on as a request that can't be understood."""


class HttpProtocol(HttpToolsProtocol):
    """Closes a connection on which a request stays incomplete, or does not begin, for `timeout_keep_alive` seconds."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # A request with both Transfer-Encoding and Content-Length is read by the former, as the reference does.
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True, lenient_chunked_length=True)
        self._head_bytes = 0
        self._is_answering = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request, or refuse one client too many."""
        super().connection_made(transport)
        if len(self.connections) > max_connections():
            transport.write(_FULL)
            transport.close()
            return
        self._wait_for_more()

    def data_received(self, data: bytes) -> None:
        """Parse what came; until the request is whole, the time for the next bytes begins again."""
        super().data_received(data)
        if not self._is_answering:
            self._wait_for_more()

    def send_400_response(self, msg: str) -> None:
        """Refuse what can't be understood, with as few words as the reference does."""
        self.transport.write(_BAD_REQUEST)
        self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._head_bytes = 0
        self._is_answering = False

    def on_url(self, url: bytes) -> None:
        """A piece of the request's target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; its colon, space and line end count."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The request's head is whole: its answer begins in a task that runs later."""
        if not self.parser.get_http_version().startswith("1."):
            raise BadHead
        super().on_headers_complete()
        cycle = self.cycle
        if cycle is not None and self.parser.get_http_version() == "1.0":
            # Clients of the older version say so where they want to go on, and want to hear it.
            cycle.keep_alive = self.parser.should_keep_alive()
        # A HEAD request's answer ends with the head; an upgraded connection belongs to another protocol.
        if cycle is not None and cycle.scope is self.scope and self.scope["method"] != "HEAD":
            cycle.transport = _AnswerTransport(self.transport, cycle)

    def on_message_complete(self) -> None:
        """The request is whole: now the client waits for us."""
        super().on_message_complete()
        self._is_answering = True

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            raise BadHead

    def _wait_for_more(self) -> None:
        if self.transport.is_closing() or self.timeout_keep_alive_task is not None:
            return
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)


class _AnswerTransport(asyncio.Transport):
    """What one answer is written to: keeps its head until the body begins, and writes both at once.

    Two writes often become two segments, and some clients read a small answer with a single call.
    """

    def __init__(self, transport: asyncio.Transport, cycle: RequestResponseCycle) -> None:
        super().__init__()
        self._transport = transport
        self._cycle = cycle
        self._head: bytes | None = None
        self._has_begun = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write what belongs to the answer, or "100 Continue" before it."""
        if self._has_begun or not self._cycle.response_started:
            self._transport.write(data)
        elif self._head is None:
            self._head = bytes(data)
            if self._cycle.keep_alive and self._cycle.scope["http_version"] == "1.0":
                self._head = self._head[:-2] + b"connection: keep-alive\r\n\r\n"
        else:
            self._begin(memoryview(data))

    def close(self) -> None:
        """Close the connection behind what was written."""
        if self._head is not None and not self._has_begun:
            self._begin(memoryview(b""))
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the connection is being closed."""
        return self._transport.is_closing()

    def _begin(self, body: memoryview) -> None:
        self._has_begun = True
        self._transport.write(b"".join((self._head or b"", body[:JOINED_BYTES])))
        if len(body) > JOINED_BYTES:
            self._transport.write(body[JOINED_BYTES:])
