"""`/v1/watches` on the OpenAPI page.

Owns: the descriptions of paths. Never: answering.
"""

from typing import Any

_ERRORS = {
    "400": "the request makes no sense; `error` says why",
    "401": "user or password is wrong",
    "403": "not for this user, or not from this address",
    "404": "there is no such watch",
    "405": "there is nothing to do that way",
    "413": "the body is too long",
    "503": "the node starts",
}
_WATCH = {"type": "object", "properties": {"name": {"type": "string"}, "balance_sat": {"type": "integer"}}}
_PAGE = {
    "type": "object",
    "properties": {"entries": {"type": "array", "items": {"type": "object"}}, "next": {"type": ["string", "null"]}},
    "required": ["entries", "next"],
}
_NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
_WORDS = {"type": "array", "items": {"type": "string"}}
_DEFINITION = {
    "type": "object",
    "properties": {
        "addresses": _WORDS,
        "scripts": _WORDS,
        "descriptors": {"type": "array", "items": {"type": ["string", "object"]}},
        "start": {"type": "integer", "minimum": 0},
    },
}


def _operation(name: str, summary: str, answer: Any, body: Any = None, *parameters: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "tags": ["Watches"],
        "summary": summary,
        "operationId": name,
        "security": [{"basic": []}],
        "responses": {
            "200": {"description": "what was asked for", "content": {"application/json": {"schema": answer}}},
            **{status: {"description": text} for status, text in _ERRORS.items()},
        },
    }
    if parameters:
        found["parameters"] = list(parameters)
    if body is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return found


def _query(name: str, schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema}


def watches_paths(path: str) -> dict[str, Any]:
    """Return the path items."""
    named = {**_DEFINITION, "properties": {"name": {"type": "string"}, **_DEFINITION["properties"]}}  # type: ignore[dict-item]
    page = (_query("after", {"type": "string"}), _query("count", {"type": "integer", "minimum": 1}))
    start = {"type": "object", "properties": {"start": {"type": "integer", "minimum": 0}}, "required": ["start"]}
    return {
        path: {
            "get": _operation("list_watches", "All watches", {"type": "array", "items": _WATCH}),
            "post": _operation("add_watch", "Make a watch", _WATCH, named),
        },
        f"{path}/{{name}}": {
            "get": _operation("get_watch", "A watch with its balance", _WATCH, None, _NAME),
            "delete": _operation("remove_watch", "Forget a watch", {"type": "object"}, None, _NAME),
        },
        f"{path}/{{name}}/scripts": {
            "post": _operation("extend_watch", "Add scripts to a watch", _WATCH, _DEFINITION, _NAME)
        },
        f"{path}/{{name}}/rescan": {"post": _operation("rescan_watch", "Count anew", _WATCH, start, _NAME)},
        f"{path}/{{name}}/history": {
            "get": _operation("watch_history", "A watch's transactions", _PAGE, None, _NAME, *page)
        },
    }
