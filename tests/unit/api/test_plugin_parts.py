"""RPC methods and routes of plugins: called, checked, refused, and what they raise is theirs alone."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clarion.api.plugin_parts import plugin_parts, register_methods, without_secrets
from clarion.node.config import Config, load_config
from clarion.node.errors import PluginError
from helpers.api_stack import ApiStack

PLUGIN = """
from clarion.node.errors import RpcError
from clarion.plugins import hookimpl
from clarion.plugins.http import Answer, HttpError, Route
from clarion.plugins.rpc import ArgKind, RpcArg, RpcMethod

def double(context, number, loud):
    return {"twice": 2 * number, "loud": loud, "height": context.chain.manager.tip.height}

def fail(context):
    raise RpcError(-5, "not today") if context.params.name == "regtest" else ZeroDivisionError()

def crash(context):
    return 1 // 0

def answer(request):
    if request.rest == "teapot":
        raise HttpError(418, "short and stout")
    if request.rest == "text":
        return Answer(b"plain", "text/plain", 202)
    if request.rest == "crash":
        return 1 // 0
    return [request.method, request.rest, dict(request.query), request.json() if request.body else None]

async def app(scope, receive, send):
    body = scope["clarion"].params.name.encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})

@hookimpl
def register_rpc_methods(config):
    return [
        RpcMethod("double", double, "Doubles.", (RpcArg("number", ArgKind.NUMBER, "A number", required=True),
            RpcArg("loud", ArgKind.FLAG, "Whether", default=False)), in_node=True),
        RpcMethod("failing", fail, "Fails."),
        RpcMethod("crashing", crash, "Crashes."),
    ]

@hookimpl
def register_routes(config):
    return [Route("/v1/mine", answer, openapi={"/v1/mine": {"get": {"summary": "Mine"}}}), Route("/open", app=app, is_public=True)]
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Config]]:
    """Return a function that gives the configuration of a node with a plugin of this text."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(text: str) -> Config:
        name = f"parts_plugin_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return load_config([f"-datadir={tmp_path}", "-regtest", f"-plugin={name}", "-rpcpassword=secret"], {})

    yield make
    register_methods(type(plugin_parts(load_config([f"-datadir={tmp_path}"], {})))())


@pytest.fixture
def stack(tmp_path: Path, module: Callable[[str], Config]) -> Iterator[ApiStack]:
    made = ApiStack(tmp_path / "node", plugin_config=module(PLUGIN)).ready()
    yield made
    made.close()


def test_methods_of_a_plugin_are_methods(stack: ApiStack) -> None:
    assert stack.result("double", 21) == {"twice": 42, "loud": False, "height": 0}
    assert stack.result("double", "21", "true") == {"twice": 42, "loud": True, "height": 0}
    assert stack.result("double", number=1, loud=True)["loud"]
    assert "double number ( loud )" in stack.result("help")
    assert stack.error("failing") == (-5, "not today")
    assert stack.error("crashing") == (-1, "ZeroDivisionError: integer division or modulo by zero")


@pytest.mark.parametrize("values", [["x"], [True], [[]], [1, 2]])
def test_arguments_are_checked(stack: ApiStack, values: list[Any]) -> None:
    assert stack.error("double", *values)[0] == -3
    assert stack.error("double")[0] == -1


def test_routes_of_a_plugin_answer(stack: ApiStack) -> None:
    answer = stack.request("POST", "/v1/mine/a/b?x=1", json={"y": 2})
    assert answer.json() == ["POST", "a/b", {"x": "1"}, {"y": 2}]
    assert stack.get("/v1/mine").json() == ["GET", "", {}, None]
    assert (stack.get("/v1/mine/teapot").status_code, stack.get("/v1/mine/crash").status_code) == (418, 500)
    plain = stack.get("/v1/mine/text")
    assert (plain.status_code, plain.text, plain.headers["content-type"]) == (202, "plain", "text/plain")
    assert stack.request("POST", "/v1/mine", content=b"{").status_code == 400
    assert stack.get("/v1/mines").status_code == 404
    assert stack.get("/openapi.json").json()["paths"]["/v1/mine"] == {"get": {"summary": "Mine"}}


def test_routes_are_for_those_with_a_password_unless_they_are_public(stack: ApiStack) -> None:
    assert stack.request("GET", "/v1/mine", auth=None).status_code == 401
    assert stack.request("GET", "/open/anything", auth=None).text == "regtest"


ONE = "from clarion.plugins import hookimpl\nfrom clarion.plugins.{module} import *\n@hookimpl\ndef {hook}(config): return [{item}]\n"


@pytest.mark.parametrize(
    ("hook", "item", "words"),
    [
        ("register_rpc_methods", "RpcMethod('getblock', print, 'x')", "an RPC method getblock already"),
        ("register_rpc_methods", "RpcMethod('a', print, 'x'), RpcMethod('a', print, 'x')", "an RPC method a already"),
        ("register_routes", "Route('/v1/events', print)", "/v1/events is taken"),
        ("register_routes", "Route('/rest/x', print)", "/rest/x is taken"),
        ("register_routes", "Route('/x', print), Route('/x', print)", "/x is taken"),
        ("register_routes", "Route('x', print)", "a path such as"),
        ("register_routes", "Route('/x')", "a handler or an app"),
    ],
)
def test_what_is_taken_can_not_be_claimed(module: Callable[[str], Config], hook: str, item: str, words: str) -> None:
    kind = "rpc" if hook == "register_rpc_methods" else "http"
    with pytest.raises(PluginError, match=words):
        plugin_parts(module(ONE.format(module=kind, hook=hook, item=item)))


def test_api_processes_are_told_no_passwords(module: Callable[[str], Config]) -> None:
    config = module(PLUGIN)
    assert config.rpc_password == "secret"
    told = without_secrets(config)
    assert "secret" not in repr(told)
    assert told.get("plugin") is not None
