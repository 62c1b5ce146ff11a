"""The JSON-RPC envelope: versions, batches, notifications, statuses and error codes."""

import asyncio
import json
import logging
from typing import Any

import orjson
import pytest

from clarion.api import jsonrpc
from clarion.api.auth import Whitelist
from clarion.api.rpc.registry import Params
from clarion.node.errors import RpcError


async def execute(method: str, params: Params) -> Any:
    if method == "nosuch":
        raise RpcError(-32601, "Method not found")
    if method == "fail":
        raise RpcError(-8, "bad")
    return params


def ask(body: object, whitelist: Whitelist | None = None) -> tuple[int, Any]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = asyncio.run(jsonrpc.answer(content, "user", whitelist or Whitelist(), execute))
    return reply.status, None if reply.body is None else json.loads(reply.body)


def test_answers_of_the_node_reach_callers_with_strange_ids() -> None:
    async def encoded(method: str, params: Params) -> Any:
        return orjson.Fragment(b'{"a":1}')

    body = b'{"method":"x","id":1%s}' % (b"0" * 400)
    reply = asyncio.run(jsonrpc.answer(body, "user", Whitelist(), encoded))
    assert reply.status == 200
    assert json.loads(reply.body or b"")["result"] == {"a": 1}


OK: Any = {"method": "echo", "params": [1], "id": 7}
V2: Any = {**OK, "jsonrpc": "2.0"}


@pytest.mark.parametrize(
    ("body", "status", "answer"),
    [
        pytest.param(OK, 200, {"result": [1], "error": None, "id": 7}, id="without-version"),
        pytest.param({**OK, "jsonrpc": "1.0"}, 200, {"result": [1], "error": None, "id": 7}, id="version-1.0"),
        pytest.param(V2, 200, {"jsonrpc": "2.0", "result": [1], "id": 7}, id="version-2.0"),
        pytest.param({"method": "echo"}, 200, {"result": [], "error": None}, id="no-id-in-version-1-is-answered"),
        pytest.param({**OK, "id": None}, 200, {"result": [1], "error": None, "id": None}, id="null-id"),
        pytest.param({"method": "echo", "jsonrpc": "2.0"}, 204, None, id="notification"),
        pytest.param({"method": "fail", "jsonrpc": "2.0"}, 204, None, id="failed-notification"),
        pytest.param([], 200, [], id="empty-batch"),
        pytest.param([{"method": "echo", "jsonrpc": "2.0"}], 204, None, id="batch-of-notifications"),
        pytest.param(
            [V2, {"method": "x", "jsonrpc": "2.0"}], 200, [{"jsonrpc": "2.0", "result": [1], "id": 7}], id="mixed"
        ),
    ],
)
def test_answer(body: object, status: int, answer: object) -> None:
    assert ask(body) == (status, answer)


@pytest.mark.parametrize(
    ("body", "status", "code", "message"),
    [
        pytest.param(b"{", 500, -32700, "Parse error", id="no-json"),
        pytest.param(b"", 500, -32700, "Parse error", id="empty"),
        pytest.param(b"NaN", 500, -32700, "Parse error", id="nan"),
        pytest.param(b"5", 500, -32700, "Top-level object parse error", id="number"),
        pytest.param({"id": 1}, 400, -32600, "Missing method", id="no-method"),
        pytest.param({"method": 1}, 400, -32600, "Method must be a string", id="method-of-another-type"),
        pytest.param({**OK, "params": 1}, 400, -32600, "Params must be an array or object", id="params"),
        pytest.param({**OK, "jsonrpc": 2}, 400, -32600, "jsonrpc field must be a string", id="version-type"),
        pytest.param({**OK, "jsonrpc": "2.1"}, 400, -32600, "JSON-RPC version not supported", id="version"),
        pytest.param({**OK, "method": "nosuch"}, 404, -32601, "Method not found", id="unknown-method"),
        pytest.param({**OK, "method": "fail"}, 500, -8, "bad", id="failure"),
        pytest.param({**V2, "method": "nosuch"}, 200, -32601, "Method not found", id="version-2-unknown"),
        pytest.param({**V2, "method": "fail"}, 200, -8, "bad", id="version-2-failure"),
        pytest.param({"jsonrpc": "2.0", "id": 1}, 400, -32600, "Missing method", id="version-2-invalid"),
    ],
)
def test_error(body: object, status: int, code: int, message: str) -> None:
    got_status, answer = ask(body)
    assert got_status == status
    assert answer["error"] == {"code": code, "message": message}
    assert ("result" in answer) == ("jsonrpc" not in answer)


def test_errors_in_a_batch_are_http_ok() -> None:
    status, answers = ask([{"method": "nosuch", "id": 1}, 5, OK])
    assert status == 200
    assert [answer["error"] and answer["error"]["code"] for answer in answers] == [-32601, -32600, None]
    # A member that is no object can't have an id of its own: it gets the one before it.
    assert [answer["id"] for answer in answers] == [1, 1, 7]


def test_doubled_named_argument_is_refused() -> None:
    status, answer = ask(b'{"method": "echo", "params": {"a": 1, "a": 2}, "id": 1}')
    assert (status, answer["error"]["message"]) == (500, "Parameter a specified multiple times")


@pytest.mark.parametrize("text", [rb"\ud83d", rb"\ude00", b"\x80", b"\xff", b"\xe2\x82", b"\xc3("])
def test_text_that_is_no_unicode_is_no_json(text: bytes) -> None:
    status, reply = ask(b'{"method":"echo","params":["%b"],"id":1}' % text)
    assert (status, reply["error"]["code"]) == (500, -32700)


LIMITED = Whitelist({"user": frozenset({"echo"})}, default_deny=True)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(OK, 200, id="listed"),
        pytest.param({**OK, "method": "fail"}, 403, id="not-listed"),
        pytest.param([OK, {"method": "fail"}], 403, id="one-of-a-batch"),
        pytest.param([5], 400, id="no-object-in-a-batch"),
        pytest.param([{"id": 1}], 500, id="no-method-in-a-batch"),
    ],
)
def test_whitelist(body: object, status: int) -> None:
    assert ask(body, LIMITED)[0] == status


def test_user_without_whitelist_is_refused_if_that_is_the_default() -> None:
    assert ask(OK, Whitelist({"other": frozenset({"echo"})}, default_deny=True)) == (403, None)
    assert ask(OK, Whitelist({"other": frozenset({"echo"})}))[0] == 200


def test_body_ends_with_a_newline() -> None:
    reply = asyncio.run(jsonrpc.answer(b'{"method":"echo","id":1}', "user", Whitelist(), execute))
    assert reply.body == b'{"result":[],"error":null,"id":1}\n'


def test_ids_and_strings_come_back_as_the_reference_writes_them() -> None:
    body = b'{"method":"echo","params":["\x7f",123456789012345678901234567890,"\\u00e9"],"id":-1.50}'
    reply = asyncio.run(jsonrpc.answer(body, "user", Whitelist(), execute))
    assert reply.body == ('{"result":["\\u007f",123456789012345678901234567890,"é"],"error":null,"id":-1.5}\n'.encode())
    reply = asyncio.run(jsonrpc.answer(b'{"method":"echo","params":["\x7f"],"id":-1.50}', "user", Whitelist(), execute))
    assert reply.body == b'{"result":["\\u007f"],"error":null,"id":-1.50}\n'


@pytest.mark.parametrize("written", [b"1.50", b"-0", b"12345678901234567890123"])
def test_ids_are_logged_as_they_were_written(caplog: pytest.LogCaptureFixture, written: bytes) -> None:
    with caplog.at_level(logging.DEBUG, "clarion.rpc"):
        status, _ = ask(b'{"id":%b,"method":"echo"}' % written)
    assert status == 200
    assert f"method=echo user=user id={written.decode()}" in caplog.text
