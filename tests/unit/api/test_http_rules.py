"""HTTP's side of the API: statuses, headers and paths as clients of the reference expect them."""

import asyncio
import json
import time
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from clarion.api.application import Gate
from clarion.api.auth import Whitelist, parse_allowed
from helpers.api_stack import USER, ApiStack

CALL = {"id": 1, "method": "getblockcount"}


def test_answer_has_exact_type_and_length(stack: ApiStack) -> None:
    answer = stack.post(CALL, headers={"Content-Type": "text/plain; charset=utf-8"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert "transfer-encoding" not in answer.headers
    assert answer.content == b'{"result":3,"error":null,"id":1}\n'


def test_wallet_path_is_the_same_endpoint(stack: ApiStack) -> None:
    assert stack.post(CALL, "/wallet/some%20name").json()["result"] == 3


@pytest.mark.parametrize("verb", ["GET", "PUT"])
def test_only_post(stack: ApiStack, verb: str) -> None:
    answer = stack.request(verb, "/")
    assert (answer.status_code, answer.text) == (405, "JSONRPC server handles only POST requests")


@pytest.mark.parametrize("path", ["/nosuch", "/?x=1", "/rest", "/rest/nosuch", "/wallet"])
def test_unknown_path(stack: ApiStack, path: str) -> None:
    answer = stack.post(CALL, path)
    assert (answer.status_code, answer.content) == (404, b"")
    assert answer.headers["content-type"] == "text/html; charset=ISO-8859-1"


def test_unknown_verb(stack: ApiStack) -> None:
    assert stack.request("BREW", "/").status_code == 405


def test_a_body_that_says_that_it_is_too_long_is_not_waited_for(stack: ApiStack) -> None:
    answer = stack.request("POST", "/", headers={"Content-Length": str((32 << 20) + 1)})
    assert (answer.status_code, answer.headers["connection"]) == (413, "close")


@pytest.mark.parametrize("verb", ["DELETE", "OPTIONS", "PATCH"])
@pytest.mark.parametrize("path", ["/", "/nosuch", "/rest/chaininfo.json"])
def test_verb_that_the_reference_does_not_know(stack: ApiStack, verb: str, path: str) -> None:
    answer = stack.request(verb, path)
    assert (answer.status_code, answer.content) == (405, b"")


def test_no_credentials(stack: ApiStack) -> None:
    answer = stack.post(CALL, auth=None)
    assert (answer.status_code, answer.content) == (401, b"")
    assert answer.headers["www-authenticate"] == 'Basic realm="jsonrpc"'


def test_wrong_password_is_answered_late(stack: ApiStack) -> None:
    started = time.monotonic()
    assert stack.post(CALL, auth=(USER, "wrong")).status_code == 401
    assert time.monotonic() - started >= 0.25


def test_notification_has_no_content(stack: ApiStack) -> None:
    answer = stack.post({"jsonrpc": "2.0", "method": "getblockcount"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert "content-type" not in answer.headers


def test_error_has_a_body_with_its_status(stack: ApiStack) -> None:
    answer = stack.post({"id": "x", "method": "getblockhash", "params": [99]})
    assert answer.status_code == 500
    assert answer.json() == {"result": None, "error": {"code": -8, "message": "Block height out of range"}, "id": "x"}


def test_warm_up_is_code_28_for_every_method(tmp_path: Path) -> None:
    stack = ApiStack(tmp_path)
    stack.methods.set_message("Loading block index…")
    assert [stack.error(name) for name in ("getblockcount", "nosuch", "help")] == [(-28, "Loading block index…")] * 3
    answer = stack.get("/rest/chaininfo.json")
    expected = "Service temporarily unavailable: Loading block index…\r\n"
    assert (answer.status_code, answer.content.decode()) == (503, expected)
    stack.ready()
    assert stack.result("getblockcount") == 0
    stack.close()


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[ApiStack]:
    """Return an API with limits."""
    whitelist = Whitelist({USER: frozenset({"getblockcount"})}, default_deny=True)
    settings = {"whitelist": whitelist, "max_body_bytes": 100, "rest": False, "allowed": parse_allowed(["10.0.0.1"])}
    stack = ApiStack(tmp_path, **settings).ready()
    yield stack
    stack.close()


def test_client_outside_the_allowed_networks(strict: ApiStack) -> None:
    assert strict.post(CALL, client=("10.0.0.2", 1)).status_code == 403
    assert strict.post(CALL, client=("10.0.0.1", 1)).status_code == 200


def test_method_outside_the_whitelist(strict: ApiStack) -> None:
    answer = strict.post({"id": 1, "method": "stop"})
    assert (answer.status_code, answer.content) == (403, b"")
    assert not strict.stopped


def test_large_body_is_refused(strict: ApiStack) -> None:
    assert strict.post(json.dumps({**CALL, "params": ["x" * 100]}).encode()).status_code == 413


def test_rest_is_off_by_default(strict: ApiStack) -> None:
    assert strict.get("/rest/chaininfo.json").status_code == 404


def test_full_queue_is_unavailable(tmp_path: Path) -> None:
    stack = ApiStack(tmp_path, rpc_threads=1, rpc_work_queue=-1).ready()
    answer = stack.post(CALL)
    assert (answer.status_code, answer.content) == (503, b"Work queue depth exceeded")
    stack.close()


def test_request_that_outlasts_the_process_is_answered(stack: ApiStack) -> None:
    """The server cancels it: the client hears why, and the log has no traceback of it."""
    sent: list[MutableMapping[str, Any]] = []

    async def run() -> None:
        task = asyncio.create_task(Gate(never, stack.settings)(scope, receive, send))
        await asyncio.sleep(0)
        task.cancel()
        await task

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "client": ("127.0.0.1", 1)}
    asyncio.run(run())
    assert [message.get("status") for message in sent] == [503, None]
    assert sent[1]["body"] == b"The node is stopping"
