"""RPC methods and routes of plugins become part of the API.

Owns: what plugins may claim, their methods in the table of methods, their routes as ASGI applications. Never: what they
do. What a handler raises is answered and logged; nobody else notices.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

import orjson

from clarion.api.asgi import Receive, Scope, Send, read_body, send_answer
from clarion.api.executor import Executor
from clarion.api.rpc import registry
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType, json_type
from clarion.api.streams.access import AccessCheck
from clarion.node.config import Config
from clarion.node.errors import PluginError, RpcError, text_for_clients
from clarion.plugins.http import Answer, HttpError, Request, Route
from clarion.plugins.manager import load_plugins
from clarion.plugins.rpc import ArgKind, RpcMethod

_log = logging.getLogger("clarion.http")

_JSON = b"application/json"
_TAKEN_PATHS = ("/", "/rest", "/wallet", "/v1/events", "/v1/lanes", "/docs", "/openapi.json", "/metrics", "/ui")
_SECRETS = ("rpcpassword", "rpcuser", "rpcauth")
_FROM_TEXT = (ArgKind.NUMBER, ArgKind.FLAG)
_TYPES = {
    ArgKind.TEXT: ArgType.STR,
    ArgKind.NUMBER: ArgType.NUM,
    ArgKind.FLAG: ArgType.BOOL,
    ArgKind.LIST: ArgType.ARR,
    ArgKind.OBJECT: ArgType.OBJ,
}


@dataclass(frozen=True)
class PluginParts:
    """What plugins add to the API of one process."""

    methods: tuple[RpcMethod, ...] = ()
    routes: tuple[Route, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.methods or self.routes)


def plugin_parts(config: Config) -> PluginParts:
    """Return what plugins add. Raises PluginError naming the plugin that claims what is taken, or ConfigError."""
    plugins = load_plugins(config.plugins, config.disabled_plugins)
    plugins.configure(config)
    methods: dict[str, RpcMethod] = {}
    for name, method in plugins.collect("register_rpc_methods", config=config):
        if method.name in methods or registry.is_taken(method.name):
            raise PluginError(f"plugin {name}: there is an RPC method {method.name} already")
        methods[method.name] = method
    routes: dict[str, Route] = {}
    for name, route in plugins.collect("register_routes", config=config):
        if not route.path.startswith("/") or route.path.endswith("/") or (route.handler is None) is (route.app is None):
            raise PluginError(f"plugin {name}: a route has a path such as /v1/mine, and a handler or an app")
        if route.path in routes or any(_is_below(route.path, taken) for taken in _TAKEN_PATHS):
            raise PluginError(f"plugin {name}: the path {route.path} is taken")
        routes[route.path] = route
    return PluginParts(tuple(methods.values()), tuple(routes.values()))


def without_secrets(config: Config) -> Config:
    """Return the configuration as API processes may know it: without users and passwords."""
    return replace(config, settings=config.settings.without(_SECRETS), rpc_password="", rpc_user="", rpc_auth=())


def register_methods(parts: PluginParts) -> None:
    """Put the methods of plugins into this process's table; they replace those of an earlier call."""
    registry.set_plugin_methods(_as_method(method) for method in parts.methods)


def _is_below(path: str, taken: str) -> bool:
    return path == taken or (taken != "/" and path.startswith(taken + "/"))


def _as_method(method: RpcMethod) -> registry.Method:
    args = tuple(
        Arg(
            each.name,
            _TYPES[each.kind],
            each.description,
            required=each.required,
            default=each.default,
            unchecked=each.kind in _FROM_TEXT,
        )
        for each in method.args
    )
    where = registry.NODE if method.in_node else registry.READER
    return registry.Method(
        name=method.name,
        category="plugins",
        where=where,
        args=args,
        results=(Result(ResultType.ANY, "", method.result),),
        description=method.description,
        examples=((method.example, method.example),),
        heavy=not method.in_node,
        internal=method.internal,
        variadic=False,
        handler=_from_texts(method),
    )


def _from_texts(method: RpcMethod) -> Callable[..., Any]:
    """Return the handler behind the reading of numbers and flags that were sent as texts.

    The command-line client, which does not know the methods of a node's plugins, sends plain words as texts.
    """
    kinds = [arg.kind for arg in method.args]
    if not any(kind in _FROM_TEXT for kind in kinds):
        return method.handler

    def handler(context: Any, *values: Any) -> Any:
        read = [_read(kind, value) for kind, value in zip(kinds, values, strict=True)]
        return method.handler(context, *read)

    return handler


def _read(kind: ArgKind, value: Any) -> Any:
    if kind not in _FROM_TEXT or value is None:
        return value
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            raise RpcError(RpcCode.TYPE_ERROR, f"a {kind.value} expected, not {value!r}") from None
    if isinstance(value, bool) is not (kind is ArgKind.FLAG) or not isinstance(value, bool | int | float):
        raise RpcError(RpcCode.TYPE_ERROR, f"a {kind.value} expected, not {json_type(value)}")
    return value


class PluginRoute:
    """An ASGI application: a plugin's route behind the question who asks."""

    def __init__(self, route: Route, executor: Executor) -> None:
        self._route = route
        self._executor = executor
        settings = executor.context.settings
        self._access = AccessCheck(settings, route.path.rpartition("/")[2])
        self._limit = settings.max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._route.is_public and not await self._access.admit(scope, send):
            return
        try:
            await self._executor.check_ready()
        except RpcError as error:
            await _refuse(send, 503, error.message)
            return
        if self._route.app is not None:
            await self._route.app({**scope, "clarion": self._executor.context}, receive, send)
        else:
            await self._handle(scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive, self._limit)
        if body is None:
            await send_answer(send, 413)
            return
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        rest = scope["path"].removeprefix(self._route.path).strip("/")
        request = Request(scope["method"], rest, query, body, self._executor.context)
        assert self._route.handler is not None
        try:
            answer = await self._executor.run_in_thread(_answered, self._route.handler, request)
        except HttpError as error:
            await _refuse(send, error.status, error.message)
        except RpcError as error:
            await _refuse(send, 404 if error.code == RpcCode.INVALID_ADDRESS_OR_KEY else 400, error.message)
        except Exception as error:
            _log.exception("the handler of %s failed", self._route.path)
            await _refuse(send, 500, text_for_clients(error))
        else:
            await send_answer(send, answer.status, answer.body, answer.content_type.encode())


def _answered(handler: Callable[[Request], Any], request: Request) -> Answer:
    result = handler(request)
    return result if isinstance(result, Answer) else Answer(orjson.dumps(result))


async def _refuse(send: Send, status: int, message: str) -> None:
    await send_answer(send, status, orjson.dumps({"error": message}), _JSON)
