"""The event stream in the OpenAPI page: its long poll, which is the form that has an end.

Owns: that path. Never: the stream.
"""

from typing import Any

from clarion.api.openapi.rpc import SECURITY
from clarion.api.streams.endpoint import EVENTS_PATH, LONGEST_POLL_S, MAX_BATCH

_QUERY: dict[str, dict[str, Any]] = {
    "wait": {"type": "number", "minimum": 0, "maximum": LONGEST_POLL_S, "description": "seconds"},
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_BATCH},
    "from": {"type": "string", "description": "a cursor, or a word for a place in the log"},
    "on_reorg": {"enum": ["409"], "description": "refuse a cursor whose block has left the chain"},
}

_BATCH = {
    "type": "object",
    "properties": {
        "cursor": {"type": "string"},
        "more": {"type": "boolean"},
        "messages": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["cursor", "more", "messages"],
    "additionalProperties": False,
}

_ERRORS = {
    "400": "the question is malformed",
    "401": "user or password is wrong",
    "403": "not for this user, or not from this address",
    "404": "there is no such height",
    "409": "the cursor's block has left the chain",
    "410": "the cursor is too old, or of another log",
    "413": "the body is too long",
    "503": "the node can't answer now",
}


def events_paths() -> dict[str, Any]:
    """Return the path of the event stream; docs/events.md tells all that can be asked."""
    return {
        EVENTS_PATH: {
            "get": {
                "tags": ["Events"],
                "summary": "Read events",
                "operationId": "read_events",
                "security": [{SECURITY: []}],
                "parameters": [
                    {"name": name, "in": "query", "required": name == "wait", "schema": schema}
                    for name, schema in _QUERY.items()
                ],
                "responses": {
                    "200": {
                        "description": "what there is, or what comes",
                        "content": {"application/json": {"schema": _BATCH}},
                    },
                    **{status: {"description": text} for status, text in _ERRORS.items()},
                },
            }
        }
    }
