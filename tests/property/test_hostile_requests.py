"""Hostile requests: whatever a client sends, the API answers it, and errors are told in the protocol's own form."""

import asyncio
import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings

from clarion.node.primitives.ids import hash_to_hex
from helpers.api_stack import PASSWORD, USER, ApiStack
from helpers.hostile import BODY, PATH, check_json_rpc, check_rest

CASES = int(os.environ.get("CLARION_FUZZ_CASES", "400"))
"""Cases of each test; `CLARION_FUZZ_CASES=20000` for a long run."""


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    """Return one event loop for all requests."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiStack]:
    """Return an API over three blocks; what the requests change matters to nobody."""
    stack = ApiStack(tmp_path_factory.mktemp("hostile")).ready()
    stack.result("generatetodescriptor", 3, "raw(51)")
    yield stack
    stack.close()


@dataclass(frozen=True)
class Answer:
    """What came back: HTTP status, content type and body."""

    status: int
    content_type: str
    body: bytes


AUTHORIZATION = b"Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode())


async def ask(app: Any, method: str, target: str, body: bytes = b"") -> Answer:
    """Hand a request to the application as the server does; no client stands between that would refuse to send it."""
    raw_path, _, query = target.encode("latin-1", "replace").partition(b"?")
    scope = {
        "type": "http",
        "method": method,
        "path": unquote(raw_path.decode("latin-1")),
        "raw_path": raw_path,
        "query_string": query,
        "headers": [(b"authorization", AUTHORIZATION), (b"content-length", b"%d" % len(body))],
        "client": ("127.0.0.1", 1),
    }
    sent: list[dict[str, Any]] = []
    gone = asyncio.Event()
    parts = [{"type": "http.request", "body": body}]

    async def receive() -> dict[str, Any]:
        if not parts:
            await gone.wait()
        return parts.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    headers = {name.lower(): value for name, value in sent[0]["headers"]}
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], headers.get(b"content-type", b"").decode(), content)


def tip_of(stack: ApiStack) -> str:
    """Return the tip's hash as clients see it."""
    return hash_to_hex(stack.node.manager.tip.hash)


def no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing was logged with a traceback since the last time."""
    faults = [record.getMessage() for record in caplog.records if record.exc_info]
    caplog.clear()
    assert not faults


QUICKLY = settings(
    max_examples=CASES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@QUICKLY
@given(body=BODY)
def test_bodies(stack: ApiStack, loop: asyncio.Runner, caplog: pytest.LogCaptureFixture, body: bytes) -> None:
    answer = loop.run(ask(stack.app, "POST", "/", body.replace(b"TIP", tip_of(stack).encode())))
    no_traceback(caplog)
    check_json_rpc(answer.status, answer.body)


@QUICKLY
@given(path=PATH)
def test_rest_paths(stack: ApiStack, loop: asyncio.Runner, caplog: pytest.LogCaptureFixture, path: str) -> None:
    answer = loop.run(ask(stack.app, "GET", path.replace("TIP", tip_of(stack))))
    no_traceback(caplog)
    check_rest(answer.status, answer.content_type, answer.body)


def test_the_node_still_answers(stack: ApiStack) -> None:
    assert stack.result("uptime") >= 0
    assert stack.get("/rest/chaininfo.json").status_code == 200
