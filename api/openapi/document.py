"""The whole OpenAPI document.

Owns: what belongs to it. Never: schemas of single parts.
"""

from typing import Any

from clarion.api.openapi.events import events_paths
from clarion.api.openapi.lanes import lanes_paths
from clarion.api.openapi.rest import rest_paths
from clarion.api.openapi.rpc import SECURITY, rpc_paths, rpc_schemas
from clarion.api.rest.endpoint import ROUTES
from clarion.api.rpc.registry import public_methods


def describe(document: dict[str, Any], *, rest: bool) -> dict[str, Any]:
    """Return `document`, which knows the routes that others added, with ours: REST only where it is served."""
    methods = list(public_methods())
    components = document.setdefault("components", {})
    components.setdefault("schemas", {}).update(rpc_schemas(methods))
    components.setdefault("securitySchemes", {})[SECURITY] = {"type": "http", "scheme": "basic"}
    paths = document.setdefault("paths", {})
    paths.update(rpc_paths(methods))
    paths.update(events_paths())
    paths.update(lanes_paths())
    if rest:
        paths.update(rest_paths(ROUTES))
    return document
