"""HTTP routes of plugins: how one is declared, and a request as a handler sees it.

Owns: the declaration. Never: sockets, who may ask (clarion.api).
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from clarion.plugins.contexts import ReaderAccess

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


class HttpError(Exception):
    """An answer that is not 200: a status, and what is wrong."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `rest` is the path behind the route's, without slash in front; `query` has the last value of each name."""

    method: str
    rest: str
    query: Mapping[str, str]
    body: bytes
    context: ReaderAccess

    def json(self) -> Any:
        """Return the body as JSON. Raises HttpError 400."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            raise HttpError(400, f"the body is no JSON: {error}") from None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is not just JSON."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200


@dataclass(frozen=True, slots=True)
class Route:
    """A path and all paths below it, on the RPC port of every API process.

    Give a `handler`: it runs in a thread, takes a `Request` and returns what JSON can say, or an `Answer`; it may raise
    HttpError or RpcError. Or give an `app`, any ASGI application (FastAPI, Starlette), which finds the `ReaderAccess` in
    `scope["clarion"]`. Whoever may use RPC may ask, unless -rpcwhitelist leaves the path's last word out; `is_public`
    asks for no password. `openapi` are path items for `/openapi.json`, by path.
    """

    path: str
    handler: Callable[[Request], Any] | None = None
    app: AsgiApp | None = None
    is_public: bool = False
    openapi: Mapping[str, Any] = field(default_factory=dict)
