"""REST answers about one transaction: tx.

Owns: their statuses and texts. Never: rendering.
"""

import orjson

from clarion.api.render.transaction import transaction_json
from clarion.api.rest.request import (
    RestAnswer,
    RestError,
    RestRequest,
    bin_answer,
    format_error,
    hex_answer,
    json_answer,
    parse_block_hash,
)
from clarion.api.rest.route import RestPath, RestRoute, always
from clarion.api.rpc.block_results import transaction_fields
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.spec import Result, ResultType
from clarion.api.rpc.transaction_lookup import find_transaction

_BLOCK_HASH = (Result(ResultType.STR_HEX, "blockhash", "the block that holds it", optional=True),)


def transaction(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/tx/: a transaction of the mempool or, with -txindex, of a block."""
    found = find_transaction(ctx, parse_block_hash(request.param), None)
    if found is None:
        raise RestError(404, f"{request.param} not found")
    if request.format == "bin":
        return bin_answer(found.tx.raw)
    if request.format == "hex":
        return hex_answer(found.tx.raw)
    if request.format == "json":
        block_hash = None if found.row is None else found.row.hash
        return json_answer(orjson.dumps(transaction_json(found.tx, ctx.params, block_hash=block_hash)))
    raise format_error()


ROUTES = (
    RestRoute(
        "/rest/tx/",
        transaction,
        always,
        paths=(
            RestPath(
                "/rest/tx/{txid}",
                "A transaction of the mempool or of a block",
                json=(Result(ResultType.OBJ, inner=(*transaction_fields(), *_BLOCK_HASH)),),
            ),
        ),
    ),
)
