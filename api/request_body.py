"""Reading the JSON of a request's body as the reference reads it.

Owns: what is JSON, how deep it may be, which of two equal names counts, and ids as they were written. Never: calls.
"""

import json
from typing import Any

import orjson

from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.members import Members
from clarion.node.errors import RpcError

MAX_DEPTH = 512
"""Objects and arrays within each other; the reference takes no more."""

_LONG = 16_384
_NAMES = ("method", "params", "id", "jsonrpc")


def decode(body: bytes) -> Any:
    """Return the JSON value of a body. Raises RpcError -32700 `Parse error`.

    An id that is a number which could look different when it is written again is an `orjson.Fragment` of its text.
    """
    value = _decode(body)
    seen = _without_long_hex(body)
    if seen.count(b"[") + seen.count(b"{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise _parse_error()
    calls = value if isinstance(value, list) else [value]
    if _may_name_twice(calls, seen):
        # The first one counts, where orjson takes the last.
        value = json.loads(body, object_pairs_hook=Members)
        calls = value if isinstance(value, list) else [value]
    if any(isinstance(call, dict) and _may_change(call.get("id"), seen) for call in calls):
        _keep_ids(calls, body)
    return value


def _without_long_hex(body: bytes) -> bytes:
    """Return the body without its longest strings of letters and digits, in which nothing is to be found.

    Looking for eight things in the three megabytes of a block takes longer than decoding them.
    """
    if len(body) < _LONG:
        return body
    return b'"'.join([b"" if len(part) >= _LONG and part.isalnum() else part for part in body.split(b'"')])


def _decode(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    # Very large numbers are JSON for the reference, but not for orjson.
    try:
        value = json.loads(body.decode(), parse_constant=_refuse_constant)
        # Half a surrogate pair is no character, which the standard library does not mind until it is to be encoded.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise _parse_error() from None
    return value


def _parse_error() -> RpcError:
    return RpcError(RpcCode.PARSE_ERROR, "Parse error")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return depth


def _may_name_twice(calls: list[Any], body: bytes) -> bool:
    """Whether the body holds a name more often than its calls have it, or one that is written with escapes."""
    members = [call for call in calls if isinstance(call, dict)]
    return b"\\u00" in body or any(
        body.count(f'"{name}"'.encode()) > sum(name in member for member in members) for name in _NAMES
    )


def _may_change(call_id: Any, body: bytes) -> bool:
    """Whether an id that is decoded and encoded again could be another text than before."""
    if isinstance(call_id, float | list | dict):
        return True
    return isinstance(call_id, int) and (call_id.bit_length() > 63 or (call_id == 0 and b"-0" in body))


def _keep_ids(calls: list[Any], body: bytes) -> None:
    """Put the ids of all calls back as they were written."""
    written = json.loads(body, parse_int=_as_written, parse_float=_as_written, object_pairs_hook=Members)
    for call, same in zip(calls, written if isinstance(written, list) else [written], strict=True):
        if isinstance(call, dict) and "id" in call:
            call["id"] = same["id"]


def _as_written(number: str) -> orjson.Fragment:
    return orjson.Fragment(number)
