"""scanblocks: blocks whose compact filters match descriptors.

Owns: the scan over the filters, its progress and its abort. Never: parsing descriptors, making filters.
"""

from collections.abc import Iterator
from typing import Any

from clarion.api.rpc.block_filters import filter_fault
from clarion.api.rpc.context import ReaderContext, ScanStates
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.outputs import scripts_of_scan_object
from clarion.api.rpc.parse import check_members, parse_int, parse_list
from clarion.api.rpc.registry import NODE, READER, rpc_method
from clarion.api.rpc.scan import SCAN_ARGS
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.chain.indexes.filter_records import STORE_NAME, find_filters
from clarion.node.errors import BlockFileError, RpcError
from clarion.node.options.index_values import FILTER_TYPES
from clarion.node.primitives.block import Block
from clarion.node.primitives.block_filter import basic_elements, match_any
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.rows import BlockRow

_T = ResultType
_CHUNK = 500
_EXAMPLE = "addr(bcrt1q4u4nsgk6ug0sqz7r3rj9tykjxrsl0yy4d0wwte)"


@rpc_method(
    "_scan_blocks",
    category="hidden",
    where=NODE,
    internal=True,
    description="Keeps the state of the one scan of filters that may run.",
)
def block_scan_state(ctx: ScanStates, action: str, progress: int = 0, height: int = 0) -> Any:
    """Begin, report on, end, ask about or abort the scan."""
    scan = ctx.filter_scan
    if action == "begin":
        return scan.begin()
    if action == "report":
        return scan.report(progress, height)
    if action == "end":
        return scan.end()
    if action == "abort":
        return scan.abort()
    done = scan.status()
    return None if done is None else {"progress": done, "current_height": scan.height}


@rpc_method(
    "scanblocks",
    category="blockchain",
    where=READER,
    heavy=True,
    description="Returns the blocks that may concern descriptors, by their compact filters (needs blockfilterindex).",
    args=[
        *SCAN_ARGS,
        Arg("start_height", ArgType.NUM, "First height", default=0),
        Arg("stop_height", ArgType.NUM, "Last height", hint="chain tip"),
        Arg("filtertype", ArgType.STR, "The filters' type", default="basic"),
        Arg(
            "options",
            ArgType.OBJ_NAMED_PARAMS,
            inner=(
                Arg(
                    "filter_false_positives",
                    ArgType.BOOL,
                    "Whether each match is looked up in its block, which must not be pruned",
                    default=False,
                ),
            ),
            oneline="options",
        ),
    ],
    results=[
        Result(_T.NONE, condition="when action=='status' and no scan runs"),
        Result(
            _T.OBJ,
            "",
            "",
            (
                Result(_T.NUM, "from_height", "first height"),
                Result(_T.NUM, "to_height", "last height"),
                Result(_T.ARR, "relevant_blocks", "blocks that match", (Result(_T.STR_HEX, "blockhash", "a block"),)),
                Result(_T.BOOL, "completed", "whether the scan came to its end"),
            ),
            condition="when action=='start'; only returns after scan completes",
        ),
        Result(
            _T.OBJ,
            "",
            "",
            (
                Result(_T.NUM, "progress", "percentage done"),
                Result(_T.NUM, "current_height", "height that is being scanned"),
            ),
            condition="when action=='status' and a scan runs",
        ),
        Result(_T.BOOL, "success", "whether there was a scan to abort", condition="when action=='abort'"),
    ],
    examples=(
        (f"start '[\"{_EXAMPLE}\"]' 300000", f'"start", ["{_EXAMPLE}"], 300000'),
        ("status", '"status"'),
    ),
)
def scanblocks(
    ctx: ReaderContext,
    action: str,
    scanobjects: list[Any] | None,
    start_height: int,
    stop_height: int | None,
    filtertype: str,
    options: dict[str, Any] | None,
) -> Any:
    """Start, abort or ask about a scan. Raises RpcError -8 while another runs."""
    if action in ("status", "abort"):
        return ctx.node.call_blocking("_scan_blocks", [action])
    if action != "start":
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Invalid action '{action}'")
    if not ctx.node.call_blocking("_scan_blocks", ["begin"]):
        raise RpcError(RpcCode.INVALID_PARAMETER, 'Scan already in progress, use action "abort" or "status"')
    try:
        fault = filter_fault(ctx, filtertype)
        if fault is not None:
            known = filtertype in FILTER_TYPES
            raise RpcError(RpcCode.MISC_ERROR if known else RpcCode.INVALID_ADDRESS_OR_KEY, fault)
        chosen = options or {}
        check_members(chosen, {"filter_false_positives": "bool"}, nullable=True)
        first, last = _range(ctx, parse_int(start_height), stop_height)
        wanted: set[bytes] = set()
        for scanobject in parse_list(scanobjects):
            wanted.update(scripts_of_scan_object(scanobject, ctx.params))
        return _scan(ctx, wanted, first, last, bool(chosen.get("filter_false_positives")))
    finally:
        ctx.node.call_blocking("_scan_blocks", ["end"])


def _range(ctx: ReaderContext, first: int, stop_height: int | None) -> tuple[int, int]:
    with ctx.reader.snapshot() as snapshot:
        tip = snapshot.height()
    if not 0 <= first <= tip:
        raise RpcError(RpcCode.MISC_ERROR, "Invalid start_height")
    last = tip if stop_height is None else parse_int(stop_height)
    if not first <= last <= tip:
        raise RpcError(RpcCode.MISC_ERROR, "Invalid stop_height")
    return first, last


def _scan(ctx: ReaderContext, wanted: set[bytes], first: int, last: int, check: bool) -> dict[str, Any]:
    found: list[str] = []
    completed, at = True, first
    while at <= last:
        end = min(at + _CHUNK - 1, last)
        with ctx.reader.snapshot() as snapshot:
            rows = snapshot.rows_from(at, end - at + 1)
        found += [hash_to_hex(row.hash) for row in _matches(ctx, rows, wanted) if not check or _is_in(ctx, row, wanted)]
        progress = 100 * (end - first) // (last - first) if last > first else 100
        at = end + 1
        if ctx.node.call_blocking("_scan_blocks", ["report", progress, end]) and at <= last:
            completed = False
            break
    return {"from_height": first, "to_height": at - 1, "relevant_blocks": found, "completed": completed}


def _matches(ctx: ReaderContext, rows: list[BlockRow], wanted: set[bytes]) -> Iterator[BlockRow]:
    """Yield the blocks whose filters match. Where filters are missing, the index is still being built: no match."""
    with ctx.index(STORE_NAME).snapshot() as view:
        filters = find_filters(view, [(row.height, row.hash) for row in rows])
    for row, encoded in zip(rows, filters or (), strict=filters is not None):
        if match_any(encoded, row.hash, wanted):
            yield row


def _is_in(ctx: ReaderContext, row: BlockRow, wanted: set[bytes]) -> bool:
    try:
        block = Block.parse(ctx.reader.read_block(row))
        return not wanted.isdisjoint(basic_elements(block, ctx.reader.read_undo(row)))
    except BlockFileError as error:
        raise RpcError(RpcCode.MISC_ERROR, f"Block not available: {error}") from None
