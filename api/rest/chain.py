"""REST answers about the chain: headers, blockhashbyheight, chaininfo, mempool.

Owns: their statuses and texts. Never: rendering.
"""

import re
from collections.abc import Sequence

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
from clarion.api.rest.route import COUNT, RestPath, RestRoute, always, json_only
from clarion.api.rpc.block_results import HEADER_FIELDS
from clarion.api.rpc.blocks import headers_json
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.spec import Result, ResultType
from clarion.node.primitives.ids import hash_to_hex

MAX_HEADERS = 2000
_SIZE_MAX = 2**64 - 1
_INT32_MAX = 2**31 - 1
_UNSAFE = re.compile(r"[^A-Za-z0-9!*'();:@&=+$,/?#\[\]\-_.~%]")


def headers(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/headers/<hash>?count=<n> and the older /rest/headers/<n>/<hash>: headers of the active chain."""
    parts = request.param.split("/")
    if len(parts) == 2:
        raw_count, hash_text = parts
    elif len(parts) == 1:
        hash_text = parts[0]
        given = request.query_value("count")
        raw_count = "5" if given is None else given
    else:
        raise RestError(400, "Invalid URI format. Expected /rest/headers/<hash>.<ext>?count=<count>")
    count = parse_number(raw_count, _SIZE_MAX)
    if count is None or not 1 <= count <= MAX_HEADERS:
        raise RestError(400, f"Header count is invalid or out of acceptable range (1-{MAX_HEADERS}): {raw_count}")
    block_hash = parse_block_hash(hash_text)
    with ctx.reader.snapshot() as snapshot:
        row = snapshot.block(block_hash)
        rows = snapshot.rows_from(row.height, count) if row is not None and snapshot.is_active(row) else []
        if request.format == "json":
            return json_answer(orjson.dumps(headers_json(snapshot, rows)))
    data = b"".join([row.header for row in rows])
    if request.format == "bin":
        return bin_answer(data)
    if request.format == "hex":
        return hex_answer(data)
    raise format_error()


def block_hash_by_height(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/blockhashbyheight/: the hash of the active chain's block."""
    height = parse_number(request.param, _INT32_MAX)
    if height is None or height < 0:
        raise RestError(400, f"Invalid height: {_UNSAFE.sub('', request.param)}")
    with ctx.reader.snapshot() as snapshot:
        block_hash = snapshot.hash_at(height)
    if block_hash is None:
        raise RestError(404, "Block height out of range")
    if request.format == "bin":
        return bin_answer(block_hash)
    if request.format == "hex":
        return hex_answer(block_hash[::-1])
    if request.format == "json":
        return json_answer(orjson.dumps({"blockhash": hash_to_hex(block_hash)}))
    raise format_error()


def _node_answer(ctx: ReaderContext, request: RestRequest, method: str, params: Sequence[object] = ()) -> RestAnswer:
    if request.format != "json":
        raise format_error("json")
    return json_answer(ctx.node.call_raw(method, params))


def chain_info(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/chaininfo.json: what getblockchaininfo answers."""
    return _node_answer(ctx, request, "getblockchaininfo")


def deployment_info(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/deploymentinfo.json and /rest/deploymentinfo/<hash>.json: what getdeploymentinfo answers."""
    if request.format != "json":
        raise format_error("json")
    if not request.param:
        return _node_answer(ctx, request, "getdeploymentinfo", [None])
    block_hash = parse_block_hash(request.param)
    with ctx.reader.snapshot() as snapshot:
        if snapshot.block(block_hash) is None:
            raise RestError(400, "Block not found")
    return _node_answer(ctx, request, "getdeploymentinfo", [request.param])


def mempool(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/mempool/info.json and contents.json: what getmempoolinfo and getrawmempool answer."""
    if request.param == "info":
        return _node_answer(ctx, request, "getmempoolinfo")
    if request.param != "contents":
        raise RestError(400, "Invalid URI format. Expected /rest/mempool/<info|contents>.json")
    if request.format != "json":
        raise format_error("json")
    verbose, sequence = _query_flag(request, "verbose", "true"), _query_flag(request, "mempool_sequence", "false")
    if verbose and sequence:
        raise RestError(400, 'Verbose results cannot contain mempool sequence values. (hint: set "verbose=false")')
    return _node_answer(ctx, request, "getrawmempool", [verbose, sequence])


def _query_flag(request: RestRequest, name: str, default: str) -> bool:
    given = request.query_value(name)
    value = default if given is None else given
    if value not in ("true", "false"):
        raise RestError(400, f'The "{name}" query parameter must be either "true" or "false".')
    return value == "true"


_CONTENTS_QUERY = {"verbose": {"type": "boolean", "default": True}, "mempool_sequence": {"type": "boolean"}}
_JSON = ("json",)

ROUTES = (
    RestRoute(
        "/rest/chaininfo",
        chain_info,
        always,
        paths=(RestPath("/rest/chaininfo", "The state of the chain", formats=_JSON, like="getblockchaininfo"),),
    ),
    RestRoute(
        "/rest/deploymentinfo/",
        deployment_info,
        always,
        paths=(
            RestPath(
                "/rest/deploymentinfo/{hash}", "Soft forks as of a block", formats=_JSON, like="getdeploymentinfo"
            ),
        ),
    ),
    RestRoute(
        "/rest/deploymentinfo",
        deployment_info,
        always,
        paths=(RestPath("/rest/deploymentinfo", "Soft forks as of the tip", formats=_JSON, like="getdeploymentinfo"),),
    ),
    RestRoute(
        "/rest/mempool/",
        mempool,
        always,
        paths=(
            RestPath("/rest/mempool/info", "The mempool in numbers", formats=_JSON, like="getmempoolinfo"),
            RestPath(
                "/rest/mempool/contents",
                "The mempool's transactions",
                formats=_JSON,
                query=_CONTENTS_QUERY,
                like="getrawmempool",
            ),
        ),
    ),
    RestRoute(
        "/rest/headers/",
        headers,
        json_only,
        paths=(
            RestPath(
                "/rest/headers/{hash}",
                "Headers upward from a block",
                query=COUNT,
                json=(Result(ResultType.ARR, inner=(Result(ResultType.OBJ, inner=HEADER_FIELDS),)),),
            ),
        ),
    ),
    RestRoute(
        "/rest/blockhashbyheight/",
        block_hash_by_height,
        paths=(
            RestPath(
                "/rest/blockhashbyheight/{height}",
                "The hash of the block at a height",
                json=(Result(ResultType.OBJ, inner=(Result(ResultType.STR_HEX, "blockhash", "the block's hash"),)),),
            ),
        ),
    ),
)
