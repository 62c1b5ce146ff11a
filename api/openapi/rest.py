"""REST in the OpenAPI page.

Owns: the paths below `/rest/` as the routes declare them. Never: which routes there are.
"""

from collections.abc import Iterable
from typing import Any

from clarion.api.openapi.schemas import Schema, results_schema
from clarion.api.rest.route import RestPath, RestRoute

_BODIES: dict[str, tuple[str, Schema]] = {
    "bin": ("application/octet-stream", {"type": "string", "format": "binary"}),
    "hex": ("text/plain", {"type": "string"}),
    "json": ("application/json", {}),
}

_ERRORS = {
    "400": "the question is malformed",
    "404": "there is no such thing, or not in this format",
    "500": "it can't be answered",
    "503": "the node is still starting",
}

_PLACES: dict[str, Schema] = {
    "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "txid": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "height": {"type": "integer", "minimum": 0},
    "outpoints": {"type": "string", "pattern": "^[0-9a-f]{64}-[0-9]$"},
    "filtertype": {"enum": ["basic"]},
}
"""What stands at each place of a path."""


def rest_paths(routes: Iterable[RestRoute]) -> dict[str, Any]:
    """Return the paths that the routes declare."""
    return {_target(path): {"get": _operation(path)} for route in routes for path in route.paths}


def _target(path: RestPath) -> str:
    return f"{path.path}.{path.formats[0] if len(path.formats) == 1 else '{format}'}"


def _operation(path: RestPath) -> dict[str, Any]:
    places = [part.strip("{}") for part in path.path.split("/") if part.startswith("{")]
    parameters = [{"name": name, "in": "path", "required": True, "schema": _PLACES[name]} for name in places]
    if len(path.formats) > 1:
        formats = {"enum": list(path.formats)}
        parameters.append({"name": "format", "in": "path", "required": True, "schema": formats})
    parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in path.query.items()]
    content = {}
    for name in path.formats:
        kind, schema = _BODIES[name]
        content[kind] = {"schema": results_schema(path.results) if name == "json" else schema}
    errors = {
        status: {"description": text, "content": {"text/plain": {"schema": {"type": "string"}}}}
        for status, text in _ERRORS.items()
    }
    return {
        "tags": ["REST"],
        "summary": path.summary,
        "operationId": _target(path).strip("/").translate(str.maketrans("/.", "__", "{}")),
        "parameters": parameters,
        "responses": {"200": {"description": path.summary, "content": content}, **errors},
    }
