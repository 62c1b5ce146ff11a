"""RPC methods about mining as it stands: getmininginfo, getnetworkhashps.

Owns: their answers. Never: making blocks.
"""

from typing import Any

from clarion.api.render.numbers import amount_json, number_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_int
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.consensus.pow import decode_compact, difficulty, next_work_required
from clarion.node.errors import RpcError
from clarion.node.mining.template import minimum_time

_T = ResultType

DEFAULT_LOOKUP = 120
"""Blocks that the speed of the network is estimated from."""


def network_hashes_per_s(last: BlockIndexEntry, lookup: int, interval: int) -> float:
    """Return the hashes a second behind the `lookup` blocks up to `last`; -1: all since the last retarget.

    `interval` is the number of blocks between retargets. 0 where the blocks' times tell nothing.
    """
    if last.height == 0:
        return 0.0
    if lookup == -1:
        lookup = last.height % interval + 1
    first = last
    earliest = latest = last.time
    for _ in range(min(lookup, last.height)):
        assert first.prev is not None, "no more blocks are looked at than there are"
        first = first.prev
        earliest = min(earliest, first.time)
        latest = max(latest, first.time)
    if earliest == latest:
        return 0.0
    return _as_double(last.chainwork - first.chainwork) / (latest - earliest)


def _as_double(work: int) -> float:
    # Added up word by word, as the reference does: the last digit is visible to clients.
    value, factor = 0.0, 1.0
    while work:
        value += factor * (work & 0xFFFFFFFF)
        factor *= 4294967296.0
        work >>= 32
    return value


def _hashes_per_s(ctx: NodeContext, lookup: int, height: int) -> float:
    if lookup < -1 or lookup == 0:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Invalid nblocks. Must be a positive number or -1.")
    tip = ctx.chain.manager.tip
    if not -1 <= height <= tip.height:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Block does not exist at specified height")
    last = tip if height == -1 else tip.ancestor(height)
    assert last is not None
    return network_hashes_per_s(last, lookup, ctx.params.difficulty_interval)


@rpc_method(
    "getnetworkhashps",
    category="mining",
    where=NODE,
    description="Estimates how many hashes the network makes in a second, from the last blocks.",
    args=[
        Arg("nblocks", ArgType.NUM, "How many blocks; -1: those since the last retarget", default=DEFAULT_LOOKUP),
        Arg("height", ArgType.NUM, "Estimate as of the time when this block was found; -1: the tip", default=-1),
    ],
    results=Result(_T.NUM, "", "hashes per second"),
)
def getnetworkhashps(ctx: NodeContext, nblocks: int, height: int) -> Any:
    """Return the estimate. Raises RpcError -8 for numbers that name no blocks."""
    return number_json(_hashes_per_s(ctx, parse_int(nblocks), parse_int(height)))


def _target_rows(what: str) -> tuple[Result, ...]:
    return (
        Result(_T.STR_HEX, "bits", f"target of {what} in compact form"),
        Result(_T.NUM, "difficulty", f"difficulty of {what}"),
        Result(_T.STR_HEX, "target", f"target of {what}"),
    )


def _target_json(bits: int) -> dict[str, Any]:
    return {
        "bits": f"{bits:08x}",
        "difficulty": number_json(difficulty(bits)),
        "target": f"{decode_compact(bits)[0]:064x}",
    }


@rpc_method(
    "getmininginfo",
    category="mining",
    where=NODE,
    description="Returns how mining stands.",
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.NUM, "blocks", "height of the chain"),
            Result(
                _T.NUM,
                "currentblockweight",
                "weight of the block that was assembled last, with what is reserved for header and coinbase;"
                "\nmissing before the first",
                optional=True,
            ),
            Result(_T.NUM, "currentblocktx", "number of its transactions without the coinbase", optional=True),
            *_target_rows("the tip"),
            Result(_T.NUM, "networkhashps", "estimated hashes per second of the network"),
            Result(_T.NUM, "pooledtx", "number of transactions in the mempool"),
            Result(_T.STR_AMOUNT, "blockmintxfee", "lowest fee rate of transactions in new blocks in BTC/kvB"),
            Result(_T.STR, "chain", "the network (main, test, testnet4, signet, regtest)"),
            Result(_T.STR_HEX, "signet_challenge", "script that signet blocks must satisfy", optional=True),
            Result(
                _T.OBJ,
                "next",
                "the next block",
                (Result(_T.NUM, "height", "height of the next block"), *_target_rows("the next block")),
            ),
            Result(_T.ARR, "warnings", "warnings about network and chain", (Result(_T.STR),)),
        ),
    ),
)
def getmininginfo(ctx: NodeContext) -> dict[str, Any]:
    """Return the state of mining."""
    tip = ctx.chain.manager.tip
    next_time = max(minimum_time(tip, ctx.params), ctx.clock.now())
    last = ctx.miner.last
    answer: dict[str, Any] = {"blocks": tip.height}
    if last is not None:
        answer["currentblockweight"] = last.weight
        answer["currentblocktx"] = last.tx_count
    answer |= _target_json(tip.bits)
    answer["networkhashps"] = number_json(_hashes_per_s(ctx, DEFAULT_LOOKUP, -1))
    answer["pooledtx"] = len(ctx.mempool.pool)
    answer["blockmintxfee"] = amount_json(ctx.miner.options.min_feerate.sat_per_kvb)
    answer["chain"] = ctx.params.name
    answer["next"] = {"height": tip.height + 1, **_target_json(next_work_required(tip, next_time, ctx.params))}
    if ctx.params.signet_challenge is not None:
        answer["signet_challenge"] = ctx.params.signet_challenge.hex()
    answer["warnings"] = ctx.warnings_json()
    return answer
