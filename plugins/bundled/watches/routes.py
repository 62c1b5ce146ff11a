"""`/v1/watches`: watches over HTTP.

Owns: paths, HTTP methods and statuses. Never: what watches are (`methods` does the work).

    GET    /v1/watches                      all
    POST   /v1/watches                      make one: {"name": …, "addresses": […], …}
    GET    /v1/watches/<name>               one
    DELETE /v1/watches/<name>               forget it
    POST   /v1/watches/<name>/scripts       add scripts to it
    POST   /v1/watches/<name>/rescan        count anew: {"start": 0}
    GET    /v1/watches/<name>/history       its transactions: ?after=<place>&count=<n>
"""

from typing import Any

from clarion.plugins.bundled.watches import methods
from clarion.plugins.bundled.watches.openapi import watches_paths
from clarion.plugins.http import HttpError, Request, Route

PATH = "/v1/watches"


def handle(request: Request) -> Any:
    """Answer a request. Raises HttpError, RpcError."""
    name, _, action = request.rest.partition("/")
    if not name:
        return _all(request)
    match request.method, action:
        case "GET", "":
            return methods.show(request.context, name)
        case "DELETE", "":
            methods.remove(request.context, name)
            return {"removed": name}
        case "POST", "scripts":
            return methods.extend(request.context, name, _fields(request))
        case "POST", "rescan":
            return methods.rescan(request.context, name, _fields(request).get("start"))
        case "GET", "history":
            return methods.history(request.context, name, request.query.get("after"), _count(request))
    raise HttpError(405 if action in ("", "scripts", "rescan", "history") else 404, "there is nothing to do that way")


def _all(request: Request) -> Any:
    if request.method == "GET":
        return methods.show_all(request.context)
    if request.method != "POST":
        raise HttpError(405, "GET lists watches, POST makes one")
    fields = _fields(request)
    return methods.add(request.context, fields.pop("name", None), fields)


def _fields(request: Request) -> dict[str, Any]:
    fields = request.json()
    if not isinstance(fields, dict):
        raise HttpError(400, "a JSON object expected")
    return fields


def _count(request: Request) -> int:
    text = request.query.get("count", str(methods.DEFAULT_COUNT))
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise HttpError(400, f"count is a number, not {text!r}")
    return int(text)


ROUTE = Route(PATH, handle, openapi=watches_paths(PATH))
