"""`/v1/lanes`: the lanes of delivery over plain HTTP, for tools that do not speak JSON-RPC.

Owns: HTTP's side. Never: what lanes do. GET lists them; POST {"action": …, "lane": …, "from"|"id": …} does what the RPC
methods of the same meaning do.
"""

from typing import Any

import orjson

from clarion.api.asgi import Receive, Scope, Send, read_get_or_post, send_answer
from clarion.api.rpc.context import NodeLink
from clarion.api.rpc.errors import RpcCode
from clarion.api.settings import ApiSettings
from clarion.api.streams.access import AccessCheck
from clarion.node.errors import RpcError

LANES_PATH = "/v1/lanes"
MAX_REQUEST_BYTES = 1 << 16

ACTIONS = {
    "pause": ("pauselane", ()),
    "resume": ("resumelane", ()),
    "reset": ("resetlane", ("from",)),
    "deadletters": ("listdeadletters", ()),
    "replay": ("replaydeadletters", ("id",)),
    "drop": ("dropdeadletters", ("id",)),
}
"""By action: the RPC method, and the fields that it needs beside `lane`."""

_JSON = b"application/json"


class LanesEndpoint:
    """An ASGI application for one path. The word of -rpcwhitelist is `lanes`."""

    def __init__(self, settings: ApiSettings, node: NodeLink) -> None:
        self._access = AccessCheck(settings, "lanes")
        self._node = node

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not await self._access.admit(scope, send):
            return
        body = await read_get_or_post(scope, receive, send, MAX_REQUEST_BYTES)
        if body is None:
            return
        try:
            method, params = ("listlanes", []) if scope["method"] == "GET" else _call(body)
            await send_answer(send, 200, await self._node.call(method, params), _JSON)
        except RpcError as error:
            status = 400 if error.code == RpcCode.INVALID_PARAMETER else 503
            await send_answer(send, status, orjson.dumps({"error": error.message}), _JSON)


def _call(body: bytes) -> tuple[str, list[Any]]:
    """Return RPC method and arguments of a request. Raises RpcError -8 naming what is wrong."""
    try:
        asked = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _wrong(f"the body is no JSON: {error}") from None
    if not isinstance(asked, dict):
        raise _wrong("the body is no JSON object")
    action = asked.get("action")
    if action not in ACTIONS:
        raise _wrong(f"action is one of {', '.join(ACTIONS)}")
    method, more = ACTIONS[action]
    names = ("lane", *more)
    for name in names:
        if not isinstance(asked.get(name), str):
            raise _wrong(f"{action} needs {name}, a text")
    unknown = sorted(set(asked) - {"action", *names})
    if unknown:
        raise _wrong(f"{action} knows no {unknown[0]!r}")
    return method, [asked[name] for name in names]


def _wrong(text: str) -> RpcError:
    return RpcError(RpcCode.INVALID_PARAMETER, text)
