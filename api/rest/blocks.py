"""REST answers about one block: block, block/notxdetails, blockpart, spenttxouts.

Owns: their statuses and texts. Never: rendering.
"""

import orjson

from clarion.api.render.numbers import amount_json
from clarion.api.render.script import script_pubkey_fragment
from clarion.api.rest.request import (
    RestAnswer,
    RestError,
    RestRequest,
    bin_answer,
    format_error,
    hex_answer,
    json_answer,
    parse_block_hash,
    parse_number,
)
from clarion.api.rest.route import RestPath, RestRoute, json_only
from clarion.api.rpc.block_results import BLOCK_RESULTS, SCRIPT_PUBKEY_FIELDS
from clarion.api.rpc.blocks import block_json, missing_reason, place_of
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.spec import Result, ResultType
from clarion.node.errors import BlockFileError
from clarion.node.primitives.address import AddressPrefixes
from clarion.node.storage.block_status import HAVE_DATA
from clarion.node.storage.rows import BlockRow

_SIZE_MAX = 2**64 - 1


def _block(
    ctx: ReaderContext, request: RestRequest, verbosity: int | None, part: tuple[int, int] | None = None
) -> RestAnswer:
    """Answer with a block or a part of it; `verbosity` None has no JSON."""
    block_hash = parse_block_hash(request.param)
    with ctx.reader.snapshot() as snapshot:
        found = snapshot.placed_block(block_hash)
        if found is None:
            raise RestError(404, f"{request.param} not found")
        row = found[0]
        place = place_of(snapshot, *found) if request.format == "json" else None
    if not row.status & HAVE_DATA:
        raise RestError(404, f"{request.param} not available ({missing_reason(row)})")
    try:
        if place is not None and verbosity is not None:
            return json_answer(block_json(ctx, place, row, verbosity))
        raw = ctx.reader.read_block(row)
    except BlockFileError:
        raise RestError(500, f"I/O error reading {request.param}") from None
    if part is not None:
        offset, size = part
        if not size or offset + size > len(raw):
            raise RestError(400, f"Bad block part offset/size {offset}/{size} for {request.param}")
        raw = raw[offset : offset + size]
    if request.format == "bin":
        return bin_answer(raw)
    if request.format == "hex":
        return hex_answer(raw)
    if place is None:
        raise format_error()
    raise RestError(400, "JSON output is not supported for this request type")


def block(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/block/: as JSON with transactions and the outputs that they spend."""
    return _block(ctx, request, 3)


def block_without_transactions(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/block/notxdetails/: as JSON with txids."""
    return _block(ctx, request, 1)


def block_part(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/blockpart/: some bytes of a block."""
    offset = _query_size(request, "offset")
    if offset is None:
        raise RestError(400, "Block part offset missing or invalid")
    size = _query_size(request, "size")
    if size is None:
        raise RestError(400, "Block part size missing or invalid")
    return _block(ctx, request, None, (offset, size))


def _query_size(request: RestRequest, name: str) -> int | None:
    value = parse_number(request.query_value(name) or "", _SIZE_MAX)
    return value if value is not None and value >= 0 else None


def spent_outputs(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/spenttxouts/: the outputs that each transaction of a block spends, none for the coinbase."""
    if "/" in request.param:
        raise RestError(400, "Invalid URI format. Expected /rest/spenttxouts/<hash>.<ext>")
    block_hash = parse_block_hash(request.param)
    with ctx.reader.snapshot() as snapshot:
        row = snapshot.block(block_hash)
    if row is None:
        raise RestError(404, f"{request.param} not found")
    try:
        if request.format == "json":
            ctx.reader.check_undo_file(row)
            return json_answer(ctx.rendered.get(("spent", row.hash), lambda: _spent_json(ctx, row)))
        data = ctx.reader.read_spent(row)
    except BlockFileError:
        raise RestError(404, f"{request.param} undo not available") from None
    if request.format == "bin":
        return bin_answer(data)
    if request.format == "hex":
        return hex_answer(data)
    raise format_error()


def _spent_json(ctx: ReaderContext, row: BlockRow) -> bytes:
    prefixes = AddressPrefixes.of(ctx.params)
    answer: list[list[dict[str, object]]] = [[]]
    for coins in ctx.reader.read_undo(row):
        answer.append(
            [
                {
                    "value": amount_json(coin.value),
                    "scriptPubKey": script_pubkey_fragment(coin.script_pubkey, prefixes),
                }
                for coin in coins
            ]
        )
    return orjson.dumps(answer)


_SPENT = Result(
    ResultType.ARR,
    inner=(
        Result(
            ResultType.ARR,
            inner=(
                Result(
                    ResultType.OBJ,
                    inner=(
                        Result(ResultType.STR_AMOUNT, "value", "value in BTC"),
                        Result(ResultType.OBJ, "scriptPubKey", "the script", SCRIPT_PUBKEY_FIELDS),
                    ),
                ),
            ),
        ),
    ),
)

_PART = {name: {"type": "integer", "minimum": 0} for name in ("offset", "size")}

ROUTES = (
    RestRoute(
        "/rest/block/notxdetails/",
        block_without_transactions,
        json_only,
        paths=(RestPath("/rest/block/notxdetails/{hash}", "A block, its txids as JSON", json=BLOCK_RESULTS[1:2]),),
    ),
    RestRoute(
        "/rest/block/",
        block,
        json_only,
        paths=(RestPath("/rest/block/{hash}", "A block, with its transactions as JSON", json=BLOCK_RESULTS[3:]),),
    ),
    RestRoute(
        "/rest/blockpart/",
        block_part,
        paths=(RestPath("/rest/blockpart/{hash}", "A piece of a block", formats=("bin", "hex"), query=_PART),),
    ),
    RestRoute(
        "/rest/spenttxouts/",
        spent_outputs,
        json_only,
        paths=(RestPath("/rest/spenttxouts/{hash}", "The outputs that each transaction spends", json=(_SPENT,)),),
    ),
)
