"""The FastAPI application: JSON-RPC and REST as plain ASGI inside it, everything else as routes that others add.

Owns: which path leads where, and what is refused before any path is looked at. Never: the answers.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from clarion import __version__
from clarion.api.asgi import CORE_METHODS, header, send_answer
from clarion.api.auth import is_allowed
from clarion.api.executor import Executor
from clarion.api.lanes_endpoint import LANES_PATH, LanesEndpoint
from clarion.api.openapi.document import describe
from clarion.api.plugin_parts import PluginParts, PluginRoute, plugin_parts, register_methods
from clarion.api.rest.endpoint import RestEndpoint
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc_endpoint import RpcEndpoint
from clarion.api.settings import ApiSettings
from clarion.api.streams.endpoint import EVENTS_PATH, EventsEndpoint
from clarion.api.streams.hub import StreamHub
from clarion.api.streams.web_socket import EventsSocket
from clarion.node.errors import StorageError, text_for_clients
from clarion.plugins.http import Route

_log = logging.getLogger("clarion.http")

_METHODS = frozenset({"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"})


class AsgiRoute(BaseRoute):
    """A path, or all paths below a prefix, that one ASGI application answers for every HTTP method.

    An exact path matches without query string only: the reference compares whole request targets.
    """

    def __init__(self, path: str, app: ASGIApp, *, prefix: bool = False) -> None:
        self.path = path
        self.app = app
        self.prefix = prefix

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        path: str = scope["path"]
        if path.startswith(self.path) if self.prefix else (path == self.path and not scope["query_string"]):
            return Match.FULL, {}
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


class StreamRoute(BaseRoute):
    """One path: one application for HTTP with any query string, one for WebSockets."""

    def __init__(self, path: str, http: ASGIApp, web_socket: ASGIApp) -> None:
        self.path = path
        self._apps = {"http": http, "websocket": web_socket}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        fits = scope["type"] in self._apps and scope["path"] == self.path
        return (Match.FULL if fits else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._apps[scope["type"]](scope, receive, send)


class Application(FastAPI):
    """FastAPI behind a gate and beside our own routes; its page also tells of what is no route of its own."""

    gate: ASGIApp
    """Where every HTTP request enters."""
    rest = False
    """Whether REST is served."""
    own_routes: Sequence[BaseRoute] = ()
    """Plain ASGI: the framework does not see their requests, but for WebSockets."""
    plugin_paths: Mapping[str, Any] = {}
    """Path items of the routes that plugins add."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or take part in the server's life."""
        if scope["type"] == "http":
            await self.gate(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def short_way(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request to our own routes: the framework's layers cost several times what a small call does."""
        for route in self.own_routes:
            if route.matches(scope)[0] is Match.FULL:
                await route.handle(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Return the document behind `/openapi.json`; made once."""
        if not self.openapi_schema:
            self.openapi_schema = describe(super().openapi(), rest=self.rest)
            self.openapi_schema["paths"].update(self.plugin_paths)
        return self.openapi_schema


_CLIENTS_KEPT = 10_000


class Gate:
    """Refuses clients outside -rpcallowip and requests beyond -rpcworkqueue before anything else is done."""

    def __init__(self, app: ASGIApp, settings: ApiSettings) -> None:
        self._app = app
        self._allowed = settings.allowed
        self._max_body_bytes = settings.max_body_bytes
        self._limit = settings.rpc_threads + settings.rpc_work_queue
        self._open = 0
        self._known: dict[str, bool] = {}

    def _lets_in(self, client: tuple[str, int] | None) -> bool:
        if client is None:
            return False
        host = client[0]
        allowed = self._known.get(host)
        if allowed is None:
            if len(self._known) >= _CLIENTS_KEPT:
                self._known.clear()
            allowed = self._known[host] = is_allowed(host, self._allowed)
        return allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._lets_in(scope.get("client")):
            await send_answer(send, 403)
        elif scope["method"] not in _METHODS:
            await send_answer(send, 405)
        elif _declared_length(scope) > self._max_body_bytes:
            # Nobody waits for a body that will be refused.
            await send_answer(send, 413, extra=[(b"connection", b"close")])
        elif scope["path"] == EVENTS_PATH:
            # Streams stay open for days and hold no thread: they are no queued work.
            await self._app(scope, receive, send)
        elif self._open >= self._limit:
            await send_answer(send, 503, b"Work queue depth exceeded")
        else:
            self._open += 1
            try:
                await self._app(scope, receive, send)
            except asyncio.CancelledError:
                # The process ends and has waited for this request long enough; it is the last thing that the task does.
                await send_answer(send, 503, b"The node is stopping")
            except StorageError as error:
                _log.error("Request for '%s' failed: %s", scope["path"], error)
                await send_answer(send, 500, text_for_clients(error).encode("utf-8", "replace"))
            except Exception as error:
                # Nothing has been sent yet where our own code fails: answers go out whole.
                _log.exception("Unexpected error while processing request for '%s'", scope["path"])
                await send_answer(send, 500, text_for_clients(error).encode("utf-8", "replace"))
            finally:
                self._open -= 1


def _declared_length(scope: Scope) -> int:
    text = header(scope, b"content-length")
    return int(text) if text is not None and text.isdigit() else 0


def _plugin_routes(route: Route, executor: Executor) -> list[BaseRoute]:
    app = PluginRoute(route, executor)
    return [StreamRoute(route.path, app, app), AsgiRoute(route.path + "/", app, prefix=True)]


async def _unknown_path(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await send_answer(send, 404 if scope["method"] in CORE_METHODS else 405)


def create_app(context: ReaderContext) -> FastAPI:
    """Return the application that answers with `context`; closing it closes the context's reader and link."""
    settings = context.settings
    executor = Executor(context)
    parts = PluginParts() if settings.plugin_config is None else plugin_parts(settings.plugin_config)
    register_methods(parts)
    hub = StreamHub(executor)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await hub.close()
        await context.node.close()
        executor.close()

    app = Application(
        title="Clarion",
        version=__version__,
        docs_url="/docs",
        redoc_url=None,
        openapi_url="/openapi.json",
        lifespan=lifespan,
    )
    app.rest = settings.rest
    rpc = RpcEndpoint(settings, executor)
    routes: list[BaseRoute] = [
        AsgiRoute("/", rpc),
        AsgiRoute("/wallet/", rpc, prefix=True),
        AsgiRoute(LANES_PATH, LanesEndpoint(settings, context.node)),
        StreamRoute(EVENTS_PATH, EventsEndpoint(settings, hub), EventsSocket(settings, hub)),
    ]
    if settings.rest:
        routes.append(AsgiRoute("/rest/", RestEndpoint(executor), prefix=True))
    for route in parts.routes:
        routes += _plugin_routes(route, executor)
    app.plugin_paths = {path: item for route in parts.routes for path, item in route.openapi.items()}
    app.own_routes = routes
    app.router.routes[:0] = routes
    app.router.default = _unknown_path
    app.router.redirect_slashes = False
    app.gate = Gate(app.short_way, settings)
    return app
