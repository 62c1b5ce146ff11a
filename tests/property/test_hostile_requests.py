"""Hostile requests: whatever a client sends, the API answers it, and errors are told in the protocol's own form."""

import asyncio
import base64
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clarion.api.rest.endpoint import ROUTES
from clarion.api.rpc.node_methods import load_methods
from clarion.api.rpc.registry import public_methods
from clarion.node.primitives.ids import hash_to_hex
from helpers.api_stack import PASSWORD, USER, ApiStack

CASES = int(os.environ.get("CLARION_FUZZ_CASES", "400"))
"""Cases of each test; `CLARION_FUZZ_CASES=20000` for a long run."""

load_methods()
# `stop` and what waits for an event by its nature: every other method must end.
ENDLESS = {"stop", "waitfornewblock", "waitforblock", "waitforblockheight", "getblocktemplate"}
METHODS = sorted(method.name for method in public_methods() if method.name not in ENDLESS)
PREFIXES = [route.prefix for route in ROUTES]

HASH = st.sampled_from(["TIP", "0" * 64, "f" * 64, "zz", "A" * 64])
NUMBER = st.one_of(
    st.integers(-3, 5), st.sampled_from([2**31, -(2**31) - 1, 2**63, -(2**64), 10**30, 1.5, -0.0, 1e300])
)
SCALAR = st.one_of(st.none(), st.booleans(), NUMBER, HASH, st.text(max_size=8), st.sampled_from(["raw(51)", "00", "*"]))
VALUE = st.recursive(
    SCALAR,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)
CALL = st.fixed_dictionaries(
    {"method": st.one_of(st.sampled_from(METHODS), VALUE)},
    optional={"id": VALUE, "jsonrpc": st.sampled_from(["1.0", "2.0", "3", 2]), "params": VALUE},
)
NAMED = st.builds(
    lambda name, values: {"method": name, "params": values}, st.sampled_from(METHODS), st.lists(VALUE, max_size=5)
)
BODY = st.one_of(
    CALL.map(json.dumps).map(str.encode),
    NAMED.map(json.dumps).map(str.encode),
    st.lists(st.one_of(CALL, NAMED, VALUE), max_size=3).map(json.dumps).map(str.encode),
    st.tuples(NAMED.map(json.dumps).map(str.encode), st.integers(0, 60), st.binary(max_size=3)).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :]
    ),
    st.binary(max_size=60),
)
PART = st.one_of(HASH, st.integers(-2, 9).map(str), st.text(st.characters(max_codepoint=0x17F), max_size=9))
PATH = st.builds(
    lambda prefix, parts, suffix, query: "/rest/" + prefix.removeprefix("/rest/") + "/".join(parts) + suffix + query,
    st.one_of(st.sampled_from(PREFIXES), st.text(max_size=6)),
    st.lists(PART, max_size=4),
    st.sampled_from(["", ".bin", ".hex", ".json", ".xml", "."]),
    st.one_of(st.just(""), st.text(max_size=9).map("?".__add__), PART.map("?count={0}&offset={0}&size={0}".format)),
)


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


def told_as_json(content: bytes) -> Any:
    """Return a body that must be JSON in UTF-8."""
    return json.loads(content.decode())


def check_reply(reply: Any) -> None:
    """One answer to one call: a result, or an error with code and message that tells of no fault of ours."""
    assert isinstance(reply, dict)
    error = reply.get("error")
    if error is None:
        assert "result" in reply
        return
    assert isinstance(error["code"], int)
    assert error["message"]
    assert not re.match(r"\w+(Error|Exception): ", error["message"]), error["message"]


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
    if answer.status == 204:
        assert answer.body == b""
        return
    assert answer.status in (200, 400, 404, 500)
    reply = told_as_json(answer.body)
    for each in reply if isinstance(reply, list) else [reply]:
        check_reply(each)


@QUICKLY
@given(path=PATH)
def test_rest_paths(stack: ApiStack, loop: asyncio.Runner, caplog: pytest.LogCaptureFixture, path: str) -> None:
    answer = loop.run(ask(stack.app, "GET", path.replace("TIP", tip_of(stack))))
    no_traceback(caplog)
    assert answer.status in (200, 400, 404)
    if answer.status == 200 and answer.content_type == "application/json":
        told_as_json(answer.body)


def test_the_node_still_answers(stack: ApiStack) -> None:
    assert stack.result("uptime") >= 0
    assert stack.get("/rest/chaininfo.json").status_code == 200
