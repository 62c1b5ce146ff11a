"""RPC methods that wait for the tip: waitfornewblock, waitforblock, waitforblockheight.

Owns: what each waits for and its answer. Never: waiting (see `node.chain.tip_watch`).
"""

from collections.abc import Callable
from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_hash, parse_int
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.waiting import Waiting
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.errors import RpcError
from clarion.node.primitives.ids import hash_to_hex

_TIMEOUT = Arg("timeout", ArgType.NUM, "Milliseconds to wait at most, 0 for as long as it takes", default=0)
_TIP = Result(
    ResultType.OBJ,
    "",
    "",
    (Result(ResultType.STR_HEX, "hash", "hash of the tip"), Result(ResultType.NUM, "height", "height of the tip")),
)
_LATE = (
    "\nReturns the present tip when time is up or the node stops. A client needs a timeout of its own that is longer."
)


def _when(ctx: NodeContext, reached: Callable[[BlockIndexEntry], bool], timeout: Any) -> Waiting:
    """Return the answer that comes once the tip is as wanted, or time is up. Raises RpcError -1."""
    timeout_ms = parse_int(timeout)
    if timeout_ms < 0:
        raise RpcError(RpcCode.MISC_ERROR, "Negative timeout")
    manager = ctx.chain.manager
    ready = manager.tip_watch.when(lambda: reached(manager.tip), timeout_ms / 1000 if timeout_ms else None)
    return Waiting(ready, lambda: _tip_json(manager.tip))


def _tip_json(tip: BlockIndexEntry) -> dict[str, Any]:
    return {"hash": hash_to_hex(tip.hash), "height": tip.height}


@rpc_method(
    "waitfornewblock",
    category="blockchain",
    where=NODE,
    waits=True,
    description="Waits for another tip and returns it." + _LATE,
    args=[_TIMEOUT, Arg("current_tip", ArgType.STR_HEX, "The tip that another is waited for", hint="the present tip")],
    results=_TIP,
    examples=(("1000", "1000"),),
)
def waitfornewblock(ctx: NodeContext, timeout: Any, current_tip: str | None) -> Waiting:
    """Wait until the tip differs from `current_tip`."""
    known = ctx.chain.manager.tip.hash if current_tip is None else parse_hash(current_tip, "current_tip")
    return _when(ctx, lambda tip: tip.hash != known, timeout)


@rpc_method(
    "waitforblock",
    category="blockchain",
    where=NODE,
    waits=True,
    description="Waits until a block is the tip and returns it." + _LATE,
    args=[Arg("blockhash", ArgType.STR_HEX, "The block to wait for", required=True), _TIMEOUT],
    results=_TIP,
    examples=(
        (
            '"0000000000079f8ef3d2c688c244eb7a4570b24c9ed7b4a8c619eb02596f8862" 1000',
            '"0000000000079f8ef3d2c688c244eb7a4570b24c9ed7b4a8c619eb02596f8862", 1000',
        ),
    ),
)
def waitforblock(ctx: NodeContext, blockhash: str, timeout: Any) -> Waiting:
    """Wait until the tip is the block."""
    wanted = parse_hash(blockhash, "blockhash")
    return _when(ctx, lambda tip: tip.hash == wanted, timeout)


@rpc_method(
    "waitforblockheight",
    category="blockchain",
    where=NODE,
    waits=True,
    description="Waits until the tip is at a height or above and returns it." + _LATE,
    args=[Arg("height", ArgType.NUM, "The height to wait for", required=True), _TIMEOUT],
    results=_TIP,
    examples=(("100 1000", "100, 1000"),),
)
def waitforblockheight(ctx: NodeContext, height: Any, timeout: Any) -> Waiting:
    """Wait until the tip is high enough."""
    wanted = parse_int(height)
    return _when(ctx, lambda tip: tip.height >= wanted, timeout)
