"""`/v1/scripts`: scripts over HTTP.

Owns: paths, HTTP methods and statuses. Never: the answers (`reading`).

    GET /v1/scripts/<script hash or address>             balance, counts, Electrum's status hash
    GET /v1/scripts/<script hash or address>/balance     the same without the status, which reads the whole history
    GET /v1/scripts/<script hash or address>/history     its transactions: ?after=<place>&count=<n>
    GET /v1/scripts/<script hash or address>/utxos       its unspent outputs: ?after=<place>&count=<n>
"""

from typing import Any

from clarion.plugins.bundled.scriptindex import reading
from clarion.plugins.bundled.scriptindex.openapi import scripts_paths
from clarion.plugins.http import HttpError, Request, Route

PATH = "/v1/scripts"


def handle(request: Request) -> Any:
    """Answer a request. Raises HttpError, RpcError."""
    name, _, action = request.rest.partition("/")
    if not name or action not in ("", "balance", "history", "utxos"):
        raise HttpError(404, "there are /v1/scripts/<script hash or address>, and behind it /balance, /history, /utxos")
    if request.method != "GET":
        raise HttpError(405, "scripts can only be asked about: GET")
    after, count = request.query.get("after"), _count(request)
    with reading.open_script(request.context, name) as script:
        match action:
            case "history":
                return reading.history(script, after, count)
            case "utxos":
                return reading.utxos(script, after, count)
            case "balance":
                return reading.balance(script)
        return reading.summary(script)


def _count(request: Request) -> int:
    text = request.query.get("count", str(reading.DEFAULT_COUNT))
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise HttpError(400, f"count is a number, not {text!r}")
    return int(text)


ROUTE = Route(PATH, handle, openapi=scripts_paths(PATH))
