"""REST answers about compact block filters: blockfilter, blockfilterheaders.

Owns: their statuses and texts. Never: finding filters.
"""

import orjson

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
from clarion.api.rest.route import COUNT, RestPath, RestRoute, always
from clarion.api.rpc.block_filters import filter_fault, look_up_filter, look_up_headers
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.spec import Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.options.index_values import FILTER_TYPES
from clarion.node.primitives.block_filter import BASIC_FILTER
from clarion.node.primitives.codec import var_bytes
from clarion.node.primitives.ids import hash_to_hex

MAX_HEADERS = 2000
_SIZE_MAX = 2**64 - 1


def block_filter(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/blockfilter/<type>/<hash>: the filter; its bytes begin with type and block."""
    parts = request.param.split("/")
    if len(parts) != 2:
        raise RestError(400, "Invalid URI format. Expected /rest/blockfilter/<filtertype>/<blockhash>")
    block_hash = parse_block_hash(parts[1])
    _check_type(ctx, parts[0])
    with ctx.reader.snapshot() as snapshot:
        row = snapshot.block(block_hash)
    if row is None:
        raise RestError(404, f"{parts[1]} not found")
    try:
        encoded, _ = look_up_filter(ctx, row)
    except RpcError as error:
        raise RestError(404, error.message) from None
    data = bytes((BASIC_FILTER,)) + block_hash + var_bytes(encoded)
    if request.format == "bin":
        return bin_answer(data)
    if request.format == "hex":
        return hex_answer(data)
    if request.format == "json":
        return json_answer(orjson.dumps({"filter": encoded.hex()}))
    raise format_error()


def filter_headers(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/blockfilterheaders/<type>/<hash>?count=<n> and the older /<type>/<n>/<hash>."""
    parts = request.param.split("/")
    if len(parts) == 3:
        kind, raw_count, hash_text = parts
    elif len(parts) == 2:
        kind, hash_text = parts
        given = request.query_value("count")
        raw_count = "5" if given is None else given
    else:
        raise RestError(
            400,
            "Invalid URI format. Expected /rest/blockfilterheaders/<filtertype>/<blockhash>.<ext>?count=<count>",
        )
    count = parse_number(raw_count, _SIZE_MAX)
    if count is None or not 1 <= count <= MAX_HEADERS:
        raise RestError(400, f"Header count is invalid or out of acceptable range (1-{MAX_HEADERS}): {raw_count}")
    block_hash = parse_block_hash(hash_text)
    _check_type(ctx, kind)
    with ctx.reader.snapshot() as snapshot:
        row = snapshot.block(block_hash)
        rows = snapshot.rows_from(row.height, count) if row is not None and snapshot.is_active(row) else []
    try:
        headers = look_up_headers(ctx, rows)
    except RpcError as error:
        raise RestError(404, error.message) from None
    if request.format == "bin":
        return bin_answer(b"".join(headers))
    if request.format == "hex":
        return hex_answer(b"".join(headers))
    if request.format == "json":
        return json_answer(orjson.dumps([hash_to_hex(header) for header in headers]))
    raise format_error()


def _check_type(ctx: ReaderContext, kind: str) -> None:
    fault = filter_fault(ctx, kind)
    if fault is not None:
        raise RestError(400, fault if kind in FILTER_TYPES else f"{fault} {kind}")


ROUTES = (
    RestRoute(
        "/rest/blockfilter/",
        block_filter,
        always,
        paths=(
            RestPath(
                "/rest/blockfilter/{filtertype}/{hash}",
                "The compact filter of a block",
                json=(Result(ResultType.OBJ, inner=(Result(ResultType.STR_HEX, "filter", "its bytes"),)),),
            ),
        ),
    ),
    RestRoute(
        "/rest/blockfilterheaders/",
        filter_headers,
        always,
        paths=(
            RestPath(
                "/rest/blockfilterheaders/{filtertype}/{hash}",
                "Headers of filters upward from a block",
                query=COUNT,
                json=(Result(ResultType.ARR, inner=(Result(ResultType.STR_HEX, "", "a header"),)),),
            ),
        ),
    ),
)
