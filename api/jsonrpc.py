"""The JSON-RPC protocol: what a request body means and how its answer looks.

Owns: versions 1.0, 1.1 and 2.0, batches, notifications and HTTP statuses as in Bitcoin Core 31. Never: HTTP headers,
authentication, methods.
"""

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson

from clarion.api.auth import Whitelist
from clarion.api.request_body import decode
from clarion.api.rpc import registry
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.members import Members
from clarion.api.rpc.parse import type_mismatch
from clarion.api.rpc.registry import Params
from clarion.node.errors import RpcError

_log = logging.getLogger("clarion.rpc")

Execute = Callable[[str, Params], Awaitable[Any]]
"""Runs a method and returns a value that orjson encodes. Raises RpcError."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP status with its body; without a body no JSON is sent."""

    status: int
    body: bytes | None = None


class _Request:
    """One call as far as it could be parsed. A batch uses one object for all members, as the reference does: a member
    that is no object is answered with the id and version of the one before it."""

    __slots__ = ("has_id", "id", "method", "params", "v2")

    def __init__(self) -> None:
        self.id: Any = None
        self.has_id = True
        self.v2 = False
        self.method = ""
        self.params: Params = []

    @property
    def is_notification(self) -> bool:
        return self.v2 and not self.has_id

    def parse(self, value: Any, user: str) -> None:
        """Read one call of `user`. Raises RpcError -32600."""
        if not isinstance(value, dict):
            raise _invalid("Invalid Request object")
        # The id comes first, so that every later error carries it.
        self.has_id = "id" in value
        self.id = value.get("id")
        self.v2 = False
        version = value.get("jsonrpc")
        if version is not None:
            if not isinstance(version, str):
                raise _invalid("jsonrpc field must be a string")
            if version not in ("1.0", "2.0"):
                raise _invalid("JSON-RPC version not supported")
            self.v2 = version == "2.0"
        method = value.get("method")
        if method is None:
            raise _invalid("Missing method")
        if not isinstance(method, str):
            raise _invalid("Method must be a string")
        self.method = method
        params = value.get("params")
        if params is not None and not isinstance(params, list | dict):
            raise _invalid("Params must be an array or object")
        self.params = [] if params is None else params
        if _log.isEnabledFor(logging.DEBUG):
            shown = "" if self.id is None or isinstance(self.id, list | dict) else self.id
            if isinstance(shown, orjson.Fragment):
                shown = orjson.dumps(shown).decode()
            _log.debug("ThreadRPCServer method=%s user=%s id=%s", method, user, shown)

    def result(self, result: Any) -> dict[str, Any]:
        reply: dict[str, Any] = {"jsonrpc": "2.0"} if self.v2 else {}
        reply["result"] = result
        if not self.v2:
            reply["error"] = None
        return self._with_id(reply)

    def error(self, error: RpcError) -> dict[str, Any]:
        reply: dict[str, Any] = {"jsonrpc": "2.0"} if self.v2 else {"result": None}
        reply["error"] = {"code": int(error.code), "message": error.message}
        return self._with_id(reply)

    def _with_id(self, reply: dict[str, Any]) -> dict[str, Any]:
        if self.has_id:
            reply["id"] = self.id
        return reply


def _invalid(message: str) -> RpcError:
    return RpcError(RpcCode.INVALID_REQUEST, message)


def encode(reply: Any) -> bytes:
    """Return compact JSON and the newline that the reference ends its bodies with."""
    try:
        text = orjson.dumps(reply, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        # An integer of more than 64 bits, or a very deep id.
        plain = json.dumps(reply, separators=(",", ":"), ensure_ascii=False, default=_plain)
        text = plain.encode() + b"\n"
    # The reference escapes this character, too; it stands in strings only.
    return text.replace(b"\x7f", b"\\u007f") if b"\x7f" in text else text


def _plain(value: Any) -> Any:
    assert isinstance(value, orjson.Fragment)
    return orjson.loads(orjson.dumps(value))


def _failure(request: _Request, error: RpcError) -> Reply:
    """Answer a version 1 call that failed, or one whose version could not be read: HTTP tells of the error too."""
    status = {RpcCode.INVALID_REQUEST: 400, RpcCode.METHOD_NOT_FOUND: 404}.get(error.code, 500)  # type: ignore[call-overload]
    return Reply(status, encode(request.error(error)))


async def answer(body: bytes, user: str, whitelist: Whitelist, execute: Execute) -> Reply:
    """Return the answer to one HTTP body from an authenticated user."""
    request = _Request()
    try:
        value = decode(body)
    except RpcError as error:
        return _failure(request, error)
    allowed = whitelist.methods_of(user)
    if allowed is not None and user not in whitelist.users:
        return Reply(403)
    if isinstance(value, dict):
        return await _single(request, value, body, user, allowed, execute)
    if not isinstance(value, list):
        return _failure(request, RpcError(RpcCode.PARSE_ERROR, "Top-level object parse error"))
    if allowed is not None:
        refused = _check_batch(request, value, allowed)
        if refused is not None:
            return refused
    return await _batch(request, value, body, user, execute)


async def _single(
    request: _Request, value: dict[str, Any], body: bytes, user: str, allowed: frozenset[str] | None, execute: Execute
) -> Reply:
    try:
        request.parse(value, user)
        if allowed is not None and request.method not in allowed:
            return Reply(403)
        request.params = _keep_doubled_names(request, body, None)
        reply = request.result(await execute(request.method, request.params))
    except RpcError as error:
        if not request.v2 or error.code == RpcCode.INVALID_REQUEST:
            return _failure(request, error)
        reply = request.error(error)
    if request.is_notification:
        return Reply(204)
    return Reply(200, encode(reply))


def _keep_doubled_names(request: _Request, body: bytes, position: int | None) -> Params:
    """Return the call's params with doubled names kept, which orjson does not tell, where they mean something.

    `position` is the call's place in a batch. Raises RpcError -8 if a single call names an argument twice.
    """
    method = registry.find(request.method)
    user_keys = method is not None and method.has_user_keys
    if not user_keys and (position is not None or isinstance(request.params, list)):
        return request.params
    try:
        value = json.loads(body, object_pairs_hook=Members)
    except ValueError:
        return request.params
    params: Params = (value if position is None else value[position]).get("params") or []
    if position is None and isinstance(params, Members) and params.doubled is not None:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Parameter {params.doubled} specified multiple times")
    return params if user_keys else request.params


def _check_batch(request: _Request, calls: list[Any], allowed: frozenset[str]) -> Reply | None:
    """Refuse a whole batch that holds a call outside the user's whitelist."""
    for call in calls:
        if not isinstance(call, dict):
            return _failure(request, _invalid("Invalid Request object"))
        method = call.get("method")
        if not isinstance(method, str):
            return _failure(request, RpcError(RpcCode.PARSE_ERROR, type_mismatch(method, "string").message))
        if method not in allowed:
            return Reply(403)
    return None


async def _batch(request: _Request, calls: list[Any], body: bytes, user: str, execute: Execute) -> Reply:
    """Answer the members one after the other; each has a snapshot of its own, and errors are always HTTP 200."""
    replies = []
    for position, call in enumerate(calls):
        try:
            request.parse(call, user)
            request.params = _keep_doubled_names(request, body, position)
            reply = request.result(await execute(request.method, request.params))
        except RpcError as error:
            reply = request.error(error)
        if not request.is_notification:
            replies.append(reply)
    if not replies and calls:
        return Reply(204)
    return Reply(200, encode(replies))
