"""The OpenAPI page: it tells of everything that is served, and the reference's own answers are as it says."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from clarion.api.openapi.document import describe
from clarion.api.rest.endpoint import ROUTES
from clarion.api.rest.route import RestRoute
from clarion.api.rpc import registry
from clarion.api.rpc.node_methods import load_methods
from helpers.api_stack import ApiStack
from helpers.shared import shared_path
from helpers.tape import read_tape

load_methods()


def page(*, rest: bool = True) -> dict[str, Any]:
    """Return the page without the routes of plugins."""
    return describe({"openapi": "3.1.0", "info": {"title": "Clarion", "version": "1"}}, rest=rest)


def test_every_method_has_a_schema_for_its_call_and_its_result() -> None:
    schemas = page()["components"]["schemas"]
    names = {method.name for method in registry.public_methods()}
    assert {name for name in schemas if name.endswith(".call")} == {f"{name}.call" for name in names}
    assert {name for name in schemas if name.endswith(".result")} == {f"{name}.result" for name in names}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.prefix)
def test_every_rest_route_has_a_path(route: RestRoute) -> None:
    paths = page()["paths"]
    assert route.paths
    for each in route.paths:
        assert each.path.startswith(route.prefix)
        assert [path for path in paths if path.rpartition(".")[0] == each.path]


def test_rest_is_shown_only_where_it_is_served() -> None:
    assert not [path for path in page(rest=False)["paths"] if path.startswith("/rest/")]


def test_the_page_is_served(stack: ApiStack) -> None:
    served = stack.get("/openapi.json").json()
    assert served["paths"].keys() == page()["paths"].keys()
    assert served["info"]["title"] == "Clarion"


def recorded_calls() -> list[tuple[dict[str, Any], Any]]:
    """Return each call that the reference answered without an error, and the result."""
    found = []
    for step in read_tape(shared_path("tapes", "regtest-a.jsonl.gz")):
        if "rpc" in step and step["status"] == 200:
            answer = json.loads(step["body"])
            if answer.get("error") is None:
                found.append(({"method": step["rpc"][0], "params": step["rpc"][1]}, answer["result"]))
    return found


@pytest.mark.parametrize("part", ["call", "result"])
def test_recorded_conversation_is_as_declared(part: str, record_count: Callable[[str, int, int], None]) -> None:
    jsonschema = pytest.importorskip("jsonschema_rs", reason="jsonschema_rs (of schemathesis) is not installed")
    schemas = page()["components"]["schemas"]
    validators = {
        method.name: jsonschema.validator_for(schemas[f"{method.name}.{part}"]) for method in registry.public_methods()
    }
    calls = recorded_calls()
    faults = {}
    passed = 0
    for call, result in calls:
        error = next(iter(validators[call["method"]].iter_errors(call if part == "call" else result)), None)
        passed += error is None
        if error is not None:
            faults.setdefault(call["method"], f"{call}: {error.message} at {error.instance_path}")
    record_count(f"recorded conversation, each {part} as declared", passed, len(calls))
    assert not faults
    assert len(calls) > 2000
