"""One client's connection: uvicorn's HTTP/1.1 with the limits that protect the server from it.

Owns: how long a request's head may be, and how long a client may take to send a request. Never: requests' meaning.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 8192
"""Request line and headers together, as in the reference; a client that sends more gets a 400."""


class HeadTooLarge(Exception):
    """The parser hands it on as a request that can't be understood."""


class HttpProtocol(HttpToolsProtocol):
    """Closes a connection on which a request stays incomplete, or does not begin, for `timeout_keep_alive` seconds."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head_bytes = 0
        self._is_answering = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait_for_more()

    def data_received(self, data: bytes) -> None:
        """Parse what came; until the request is whole, the time for the next bytes begins again."""
        super().data_received(data)
        if not self._is_answering:
            self._wait_for_more()

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

    def on_message_complete(self) -> None:
        """The request is whole: now the client waits for us."""
        super().on_message_complete()
        self._is_answering = True

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            raise HeadTooLarge

    def _wait_for_more(self) -> None:
        if self.transport.is_closing() or self.timeout_keep_alive_task is not None:
            return
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
