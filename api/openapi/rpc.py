"""JSON-RPC in the OpenAPI page: one path, one schema for each method's call and one for its result.

Owns: that path and those schemas. Never: REST, running anything.
"""

from collections.abc import Iterable
from typing import Any

from clarion.api.openapi.schemas import Schema, any_of, arg_schema, results_schema
from clarion.api.rpc.registry import Method
from clarion.api.rpc.spec import ArgType

SECURITY = "basic"
"""Name of the security scheme: the cookie, or a user of -rpcauth."""

_ID: Schema = {"description": "comes back with the answer"}

_ERROR: Schema = {
    "type": "object",
    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
    "required": ["code", "message"],
    "additionalProperties": False,
}

_REPLY: Schema = {
    "type": "object",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "result": {"description": "as <method>.result says"},
        "error": any_of([{"$ref": "#/components/schemas/rpc.error"}, {"type": "null"}]),
        "id": _ID,
    },
    "anyOf": [{"required": ["result"]}, {"required": ["error"]}],
    "additionalProperties": False,
}

_STATUSES = {
    "200": "a result; for version 2.0 and for a batch errors too",
    "400": "not a valid call",
    "404": "the method is unknown",
    "500": "the call failed, or the body is no JSON",
}
"""Statuses with a JSON body."""

_BARE_STATUSES = {
    "204": "notifications have no answer",
    "401": "user or password is wrong",
    "403": "not for this user, or not from this address",
    "413": "the body is too long",
    "503": "too many requests are waiting",
}


def call_name(method: Method) -> str:
    """Return the name of the schema of a method's call."""
    return f"{method.name}.call"


def result_name(method: Method) -> str:
    """Return the name of the schema of a method's result."""
    return f"{method.name}.result"


def rpc_schemas(methods: Iterable[Method]) -> dict[str, Schema]:
    """Return the schemas by their names in the document."""
    schemas: dict[str, Schema] = {"rpc.error": _ERROR, "rpc.reply": _REPLY}
    for method in methods:
        schemas[call_name(method)] = _call(method)
        schemas[result_name(method)] = results_schema(method.results)
    return schemas


def rpc_paths(methods: Iterable[Method]) -> dict[str, Any]:
    """Return the paths of JSON-RPC. A body is one call, or several in an array."""
    calls = {"oneOf": [{"$ref": f"#/components/schemas/{call_name(method)}"} for method in methods]}
    reply = {"$ref": "#/components/schemas/rpc.reply"}
    body = {"oneOf": [calls, {"type": "array", "items": calls}]}
    replies = {"oneOf": [reply, {"type": "array", "items": reply}]}
    operation = {
        "tags": ["JSON-RPC"],
        "summary": "Call a method, or several",
        "security": [{SECURITY: []}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            **{
                status: {"description": text, "content": {"application/json": {"schema": replies}}}
                for status, text in _STATUSES.items()
            },
            **{status: {"description": text} for status, text in _BARE_STATUSES.items()},
        },
    }
    wallet = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "/": {"post": {**operation, "operationId": "call"}},
        "/wallet/{name}": {"post": {**operation, "operationId": "call_wallet", "parameters": [wallet]}},
    }


def _call(method: Method) -> Schema:
    args = [arg for arg in method.args if not arg.hidden]
    named = {arg.name: arg_schema(arg) for arg in args}
    for arg in args:
        if arg.type is ArgType.OBJ_NAMED_PARAMS:
            named |= {inner.name: arg_schema(inner) for inner in arg.inner}
    required = [arg.name for arg in args if arg.required]
    by_place: Schema = {"type": "array", "prefixItems": [arg_schema(arg) for arg in args], "minItems": len(required)}
    if not by_place["prefixItems"]:
        del by_place["prefixItems"]
    by_name: Schema = {"type": "object", "properties": named, "required": required}
    return {
        "type": "object",
        "description": method.description,
        "properties": {
            "jsonrpc": {"enum": ["1.0", "2.0"]},
            "id": _ID,
            "method": {"const": method.name},
            "params": {"anyOf": [by_place, by_name]},
        },
        "required": ["method", "params"] if required else ["method"],
    }
