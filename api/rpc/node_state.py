"""RPC methods about the node as a whole: the mocked clock, event delivery, indexes, and the API's own questions.

Owns: their answers. Never: the chain's contents.
"""

from typing import Any

from clarion.api.rpc.chain_answers import index_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import INT64, parse_int, parse_str
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.chain.manager import ChainManager
from clarion.node.errors import RpcError
from clarion.node.log import CATEGORIES, DEPRECATED_CATEGORY
from clarion.node.primitives.ids import hash_to_hex

MAX_MOCK_TIME = 2**32 - 1
MAX_SKIP_S = 3600
SYNC_TIMEOUT_S = 60.0


@rpc_method(
    "setmocktime",
    category="hidden",
    where=NODE,
    description="Fixes the node's clock (regtest only).",
    args=[Arg("timestamp", ArgType.NUM, "UNIX epoch time; 0 lets the clock run again", required=True)],
    results=Result(ResultType.NONE),
    examples=(),
)
def setmocktime(ctx: NodeContext, timestamp: int) -> None:
    """Fix the clock on the chain thread, so that it never jumps in the middle of a validation."""
    if not ctx.params.is_mockable_chain:
        raise RpcError(RpcCode.MISC_ERROR, "setmocktime is for regression testing (-regtest mode) only")
    seconds = parse_int(timestamp, INT64)
    if not 0 <= seconds <= MAX_MOCK_TIME:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Mocktime must be in the range [0, {MAX_MOCK_TIME}], not {seconds}.")
    ctx.chain.submit(ctx.clock.set_mock, seconds).result()
    # Who sets the clock and then talks to the node by a peer finds done what had become due.
    ctx.network.soon(ctx.network.tick)


@rpc_method(
    "mockscheduler",
    category="hidden",
    where=NODE,
    description="Has repeated work done sooner, as if time had passed (regtest only).",
    args=[Arg("delta_time", ArgType.NUM, "Seconds to skip, up to an hour", required=True)],
    results=Result(ResultType.NONE),
    examples=(),
)
def mockscheduler(ctx: NodeContext, delta_time: int) -> None:
    """Let the scheduler skip some time."""
    if not ctx.params.is_mockable_chain:
        raise RpcError(RpcCode.MISC_ERROR, "mockscheduler is for regression testing (-regtest mode) only")
    seconds = parse_int(delta_time, INT64)
    if not 0 < seconds <= MAX_SKIP_S:
        raise RpcError(RpcCode.MISC_ERROR, f"delta_time must be between 1 and {MAX_SKIP_S} seconds (1 hr)")
    ctx.scheduler.skip(seconds)


@rpc_method(
    "syncwithvalidationinterfacequeue",
    category="hidden",
    where=NODE,
    description="Waits until everything that happened before this call was handed to the notifiers.",
    results=Result(ResultType.NONE),
)
def syncwithvalidationinterfacequeue(ctx: NodeContext) -> None:
    """Return once every event up to now was handed to libzmq."""
    ctx.chain.submit(_nothing).result()
    ctx.events.sync(ctx.last_event_seq(), SYNC_TIMEOUT_S)


def _nothing() -> None:
    """A job whose end says that the jobs before it are done, and committed if they changed the chain."""


@rpc_method(
    "getzmqnotifications",
    category="zmq",
    where=NODE,
    description="Returns the active ZeroMQ notifications.",
    results=Result(
        ResultType.ARR,
        "",
        "",
        (
            Result(
                ResultType.OBJ,
                "",
                "",
                (
                    Result(ResultType.STR, "type", "Type of notification"),
                    Result(ResultType.STR, "address", "Address of the publisher"),
                    Result(ResultType.NUM, "hwm", "Outbound message high water mark"),
                ),
            ),
        ),
    ),
)
def getzmqnotifications(ctx: NodeContext) -> list[dict[str, object]]:
    """Return type, address and high-water mark of every notifier."""
    return ctx.events.descriptions().get("zmq", [])


@rpc_method(
    "getindexinfo",
    category="util",
    where=NODE,
    description="Returns how far the indexes that run in the node are.",
    args=[Arg("index_name", ArgType.STR, "Only this index")],
    results=Result(
        ResultType.OBJ_DYN,
        "",
        "",
        (
            Result(
                ResultType.OBJ,
                "name",
                "Name of the index",
                (
                    Result(ResultType.BOOL, "synced", "Whether it has reached the tip"),
                    Result(ResultType.NUM, "best_block_height", "Height that it has reached"),
                ),
            ),
        ),
    ),
    examples=(("", ""), ("txindex", '"txindex"')),
)
def getindexinfo(ctx: NodeContext, index_name: str | None) -> dict[str, Any]:
    """Return the state of each index that runs."""
    return {
        name: index_json(state.synced, state.height)
        for name, state in ctx.indexes.states().items()
        if index_name in (None, "", name)
    }


def flush_chain(manager: ChainManager) -> tuple[bytes, int]:
    """Commit and flush, and return hash and height of the tip. Runs on the chain thread."""
    manager.commit()
    manager.journal.flush()
    tip = manager.state.active.tip
    return tip.hash, tip.height


@rpc_method(
    "_flush",
    category="hidden",
    where=NODE,
    internal=True,
    description="Writes all coins to the database, for a method that reads the flushed set.",
)
def flush(ctx: NodeContext) -> dict[str, Any]:
    """Return the tip at which everything was flushed."""
    block_hash, height = ctx.chain.submit(flush_chain, ctx.chain.manager).result()
    return {"hash": hash_to_hex(block_hash), "height": height}


@rpc_method(
    "logging",
    category="control",
    where=NODE,
    description="Returns which categories are logged in detail, after switching some on and others off.\n"
    f"The valid logging categories are: {', '.join(sorted(CATEGORIES))}\n"
    '"all" and "1" stand for all of them.',
    args=[
        Arg("include", ArgType.ARR, "Categories to switch on", inner=(Arg("include_category", ArgType.STR),)),
        Arg("exclude", ArgType.ARR, "Categories to switch off", inner=(Arg("exclude_category", ArgType.STR),)),
    ],
    results=Result(
        ResultType.OBJ_DYN, "", "by category", (Result(ResultType.BOOL, "category", "whether it is logged"),)
    ),
    examples=(("'[\"all\"]' '[\"http\"]'", '["all"], ["http"]'),),
)
def logging_categories(ctx: NodeContext, include: list[Any] | None, exclude: list[Any] | None) -> dict[str, bool]:
    """Return every category with whether it is logged. Raises RpcError -8 for an unknown one."""
    on, off = [parse_str(name) for name in include or ()], [parse_str(name) for name in exclude or ()]
    for name in (*on, *off):
        if name not in (*CATEGORIES, DEPRECATED_CATEGORY, "", "1", "all"):
            raise RpcError(RpcCode.INVALID_PARAMETER, f"unknown logging category {name}")
    if ctx.log is None:
        return {}
    if on or off:
        ctx.log.change(on, off)
    return ctx.log.active()
