"""`/v1/scripts` on the OpenAPI page.

Owns: the descriptions of paths. Never: answering.
"""

from collections.abc import Mapping
from typing import Any

_ERRORS = {
    "400": "the request makes no sense; `error` says why",
    "401": "user or password is wrong",
    "403": "not for this user, or not from this address",
    "404": "there is no such path",
    "405": "there is nothing to do that way",
    "503": "the node starts, or the index is being built",
}
_TEXT, _NUMBER, _TEXT_OR_NULL = {"type": "string"}, {"type": "integer"}, {"type": ["string", "null"]}
_NUMBER_OR_NULL = {"type": ["integer", "null"]}
_PLACE = {"scripthash": _TEXT, "height": _NUMBER, "block_hash": _TEXT}
_BALANCE = {
    **_PLACE,
    "confirmed_sat": _NUMBER,
    "unconfirmed_sat": _NUMBER_OR_NULL,
    "transactions": _NUMBER,
    "unspent": _NUMBER,
}
_AMOUNTS = {"txid": _TEXT, "height": _NUMBER, "received_sat": _NUMBER, "sent_sat": _NUMBER}
_OUTPUT = {"txid": _TEXT, "vout": _NUMBER, "value_sat": _NUMBER}
_SCRIPT = {
    "name": "script",
    "in": "path",
    "required": True,
    "description": "the script's hash as in Electrum's protocol, or an address",
    "schema": _TEXT,
}
_PAGE = [
    {"name": "after", "in": "query", "required": False, "description": "`next` of the page before", "schema": _TEXT},
    {"name": "count", "in": "query", "required": False, "schema": {"type": "integer", "minimum": 1, "maximum": 1000}},
]


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _page(entry: Mapping[str, Any], in_pool: Mapping[str, Any]) -> dict[str, Any]:
    pool = {"type": ["array", "null"], "items": _object(in_pool)}
    entries = {"type": "array", "items": _object(entry)}
    return _object({**_PLACE, "entries": entries, "next": _TEXT_OR_NULL, "mempool": pool})


def _operation(name: str, summary: str, answer: Any, *parameters: Any) -> dict[str, Any]:
    return {
        "get": {
            "tags": ["Scripts"],
            "summary": summary,
            "operationId": name,
            "security": [{"basic": []}],
            "parameters": [_SCRIPT, *parameters],
            "responses": {
                "200": {"description": "what was asked for", "content": {"application/json": {"schema": answer}}},
                **{status: {"description": text} for status, text in _ERRORS.items()},
            },
        }
    }


def scripts_paths(path: str) -> dict[str, Any]:
    """Return the path items."""
    one = f"{path}/{{script}}"
    transfers = _page({"place": _TEXT, **_AMOUNTS}, {"fee_sat": _NUMBER, **_AMOUNTS})
    coins = _page({**_OUTPUT, "height": _NUMBER, "coinbase": {"type": "boolean"}, "spent_by": _TEXT_OR_NULL}, _OUTPUT)
    return {
        one: _operation(
            "get_script", "A script with balance and status", _object({**_BALANCE, "status": _TEXT_OR_NULL})
        ),
        f"{one}/balance": _operation("script_balance", "A script's balance", _object(_BALANCE)),
        f"{one}/history": _operation("script_history", "A script's transactions", transfers, *_PAGE),
        f"{one}/utxos": _operation("script_utxos", "A script's unspent outputs", coins, *_PAGE),
    }
