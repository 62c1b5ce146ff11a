"""Compact block filters for clients: getblockfilter, and what REST tells of them.

Owns: finding filters by -blockfilterindex, and the errors. Never: making them.
"""

from typing import Any

from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.index_access import has_index, wait_for_index
from clarion.api.rpc.parse import parse_hash
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.chain.indexes.filter_records import NAME, STORE_NAME, FilterHeader, find_filters, find_headers
from clarion.node.errors import RpcError
from clarion.node.options.index_values import FILTER_TYPES
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.block_status import VALID_SCRIPTS, is_valid
from clarion.node.storage.rows import BlockRow

NOT_FOUND = "Filter not found."
BEING_INDEXED = " Block filters are still in the process of being indexed."
CORRUPT = " This error is unexpected and indicates index corruption."


def filter_fault(ctx: ReaderContext, name: str) -> str | None:
    """Return why there can't be filters of a type, None if the node indexes them."""
    if name not in FILTER_TYPES:
        return "Unknown filtertype"
    return None if has_index(ctx, NAME) else f"Index is not enabled for filtertype {name}"


def look_up_filter(ctx: ReaderContext, row: BlockRow) -> tuple[bytes, FilterHeader]:
    """Return a block's encoded filter and its header. Called from a thread.

    Raises RpcError -5, -1 or -32603, in the reference's words, if it is not there.
    """
    ready = wait_for_index(ctx, NAME, STORE_NAME)
    with ctx.index(STORE_NAME).snapshot() as view:
        place = [(row.height, row.hash)]
        filters, headers = find_filters(view, place), find_headers(view, place)
    if filters and headers:
        return filters[0], headers[0]
    if not is_valid(row.status, VALID_SCRIPTS):
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, f"{NOT_FOUND} Block was not connected to active chain.")
    if not ready:
        raise RpcError(RpcCode.MISC_ERROR, NOT_FOUND + BEING_INDEXED)
    raise RpcError(RpcCode.INTERNAL_ERROR, NOT_FOUND + CORRUPT)


def look_up_headers(ctx: ReaderContext, rows: list[BlockRow]) -> list[bytes]:
    """Return the filter headers of blocks of the active chain. Raises RpcError as `look_up_filter`."""
    ready = wait_for_index(ctx, NAME, STORE_NAME)
    with ctx.index(STORE_NAME).snapshot() as view:
        headers = find_headers(view, [(row.height, row.hash) for row in rows])
    if headers is None:
        raise RpcError(RpcCode.MISC_ERROR, NOT_FOUND + (CORRUPT if ready else BEING_INDEXED))
    return [each.header for each in headers]


@rpc_method(
    "getblockfilter",
    category="blockchain",
    where=READER,
    heavy=True,
    description="Returns the compact filter of a block (BIP157).",
    args=[
        Arg("blockhash", ArgType.STR_HEX, "The block", required=True),
        Arg("filtertype", ArgType.STR, "The filter's type", default="basic"),
    ],
    results=Result(
        ResultType.OBJ,
        "",
        "",
        (
            Result(ResultType.STR_HEX, "filter", "the encoded filter"),
            Result(ResultType.STR_HEX, "header", "the filter's header"),
        ),
    ),
    examples=(('"mytxblockhash" "basic"', '"mytxblockhash", "basic"'),),
)
def getblockfilter(ctx: ReaderContext, blockhash: str, filtertype: str) -> dict[str, Any]:
    """Return a block's filter. Raises RpcError -5 for an unknown type or block, -1 without the index."""
    block_hash = parse_hash(blockhash, "blockhash")
    fault = filter_fault(ctx, filtertype)
    if fault is not None:
        code = RpcCode.MISC_ERROR if filtertype in FILTER_TYPES else RpcCode.INVALID_ADDRESS_OR_KEY
        raise RpcError(code, fault)
    with ctx.reader.snapshot() as snapshot:
        row = snapshot.block(block_hash)
    if row is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Block not found")
    encoded, header = look_up_filter(ctx, row)
    return {"filter": encoded.hex(), "header": hash_to_hex(header.header)}
