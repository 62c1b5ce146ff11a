"""Plain ASGI: reading a body and sending an answer, without the cost of a framework's request and response objects.

Owns: the answer's headers as Bitcoin Core sets them. Never: routing, meaning.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

DEFAULT_TYPE = b"text/html; charset=ISO-8859-1"
"""Content-Type of answers for which the reference sets none."""


CHALLENGE: Headers = [(b"www-authenticate", b'Basic realm="jsonrpc"')]
"""What goes with status 401: how to say who one is."""


CORE_METHODS = frozenset({"GET", "HEAD", "POST", "PUT"})
"""What the reference's server knows: any other method is refused before the path is looked at."""


async def read_body(receive: Receive, limit: int) -> bytes | None:
    """Return the request's body, None if it is longer than `limit` bytes or the client left."""
    chunks = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            return None
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def read_get_or_post(scope: Scope, receive: Receive, send: Send, limit: int) -> bytes | None:
    """Return a request's body, None once another method or a body of more than `limit` bytes has been refused."""
    if scope["method"] not in ("GET", "POST"):
        await send_answer(send, 405)
        return None
    body = await read_body(receive, limit)
    if body is None:
        await send_answer(send, 413)
    return body


async def wait_for_leave(receive: Receive) -> None:
    """Return when the client has closed the connection; the request's body has been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def send_answer(
    send: Send, status: int, body: bytes = b"", content_type: bytes = DEFAULT_TYPE, extra: Headers | None = None
) -> None:
    """Send a whole answer with its Content-Length, never chunked. Status 204 has neither type nor length."""
    headers: Headers = [] if extra is None else list(extra)
    if status != 204:
        headers.append((b"content-type", content_type))
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def header(scope: Scope, name: bytes) -> bytes | None:
    """Return the first header `name` (lower case)."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return None
