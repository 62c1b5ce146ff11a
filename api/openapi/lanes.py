"""The lanes of delivery in the OpenAPI page.

Owns: that path. Never: lanes.
"""

from typing import Any

from clarion.api.lanes_endpoint import ACTIONS, LANES_PATH
from clarion.api.openapi.rpc import SECURITY
from clarion.api.openapi.schemas import any_of, results_schema
from clarion.api.rpc.registry import find

_ERRORS = {
    "400": "the request is malformed, or there is no such lane",
    "401": "user or password is wrong",
    "403": "not for this user, or not from this address",
    "413": "the body is too long",
    "503": "the node can't answer now",
}


def lanes_paths() -> dict[str, Any]:
    """Return the path of the lanes; docs/transports.md tells what they are."""
    return {
        LANES_PATH: {
            "get": _operation("List lanes", "list_lanes", _result("listlanes")),
            "post": {
                **_operation(
                    "Do something with a lane",
                    "change_lane",
                    any_of([_result(method) for method, _ in ACTIONS.values()]),
                ),
                "requestBody": {"required": True, "content": {"application/json": {"schema": _asked()}}},
            },
        }
    }


def _operation(summary: str, name: str, answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "tags": ["Events"],
        "summary": summary,
        "operationId": name,
        "security": [{SECURITY: []}],
        "responses": {
            "200": {"description": "the lane or lanes", "content": {"application/json": {"schema": answer}}},
            **{status: {"description": text} for status, text in _ERRORS.items()},
        },
    }


def _result(method: str) -> dict[str, Any]:
    found = find(method)
    assert found is not None
    return results_schema(found.results)


def _asked() -> dict[str, Any]:
    def one(action: str, names: tuple[str, ...]) -> dict[str, Any]:
        words = {name: {"type": "string"} for name in ("lane", *names)}
        properties = {"action": {"const": action}, **words}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    return any_of([one(action, names) for action, (_, names) in ACTIONS.items()])
