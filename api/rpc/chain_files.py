"""RPC methods about the stored chain: verifychain, pruneblockchain.

Owns: their arguments and errors. Never: the checks themselves.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import INT32, parse_int
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.chain.acceptance import MIN_BLOCKS_TO_KEEP
from clarion.node.chain.state import ChainState
from clarion.node.chain.verify import Verifier, VerifyResult
from clarion.node.errors import RpcError

DEFAULT_LEVEL = 3
DEFAULT_BLOCKS = 6

LOWEST_TIME = 1_000_000_000
"""Numbers above it are times, not heights."""

TIMESTAMP_WINDOW_S = 2 * 60 * 60
"""How far a block's time may be off."""


@rpc_method(
    "verifychain",
    category="blockchain",
    where=NODE,
    description="Checks the stored chain, from the tip downwards. Other calls are answered meanwhile.",
    args=[
        Arg(
            "checklevel",
            ArgType.NUM,
            "How thorough the check is:\n"
            "- level 0 reads the blocks from disk\n"
            "- level 1 checks each block by the rules that need no context\n"
            "- level 2 checks the undo data\n"
            "- level 3 disconnects the blocks from the coins, in memory\n"
            "- level 4 connects them again\n"
            "- each level includes the ones before",
            hint="3, range=0-4",
        ),
        Arg("nblocks", ArgType.NUM, "Number of blocks to check", hint="6, 0=all"),
    ],
    results=Result(ResultType.BOOL, "", "Whether nothing was found and nothing left out; else debug.log says why"),
)
def verifychain(ctx: NodeContext, checklevel: Any, nblocks: Any) -> bool:
    """Return whether the last blocks are as they must be."""
    level = DEFAULT_LEVEL if checklevel is None else parse_int(checklevel, INT32)
    depth = DEFAULT_BLOCKS if nblocks is None else parse_int(nblocks, INT32)
    verifier = Verifier(ctx.chain, ctx.stores, pruned=ctx.config.prune_mib > 0, interrupted=ctx.stopping)
    return verifier.verify(level, depth) is VerifyResult.SUCCESS


@rpc_method(
    "pruneblockchain",
    category="blockchain",
    where=NODE,
    description="Deletes the files of blocks up to a height or time, as far as they may be deleted. Needs -prune.",
    args=[
        Arg(
            "height",
            ArgType.NUM,
            "Height to prune up to, or a UNIX epoch time: then blocks that are at least 2 hours older are pruned",
            required=True,
        )
    ],
    results=Result(ResultType.NUM, "", "Height of the last block pruned"),
    examples=(("1000", "1000"),),
)
def pruneblockchain(ctx: NodeContext, height: Any) -> int:
    """Prune by hand and return up to which height blocks are gone, -1 for none."""
    if not ctx.config.prune_mib:
        raise RpcError(RpcCode.MISC_ERROR, "Cannot prune blocks because node is not in prune mode.")
    wanted = parse_int(height, INT32)
    if wanted < 0:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Negative block height.")
    return ctx.chain.submit(_prune, ctx, wanted).result()


def _prune(ctx: NodeContext, wanted: int) -> int:
    """Runs on the chain thread."""
    state = ctx.chain.manager.state
    ctx.chain.manager.commit()
    height = state.active.height
    if wanted > LOWEST_TIME:
        wanted = _height_of_time(state, wanted - TIMESTAMP_WINDOW_S)
    if height < state.params.prune_after_height:
        raise RpcError(RpcCode.MISC_ERROR, "Blockchain is too short for pruning.")
    if wanted > height:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Blockchain is shorter than the attempted prune height.")
    ctx.pruner.prune_by_hand(min(wanted, height - MIN_BLOCKS_TO_KEEP))
    pruned_to = ctx.pruner.prune_height(state.active.tip)
    return -1 if pruned_to is None else pruned_to


def _height_of_time(state: ChainState, time: int) -> int:
    """Return the lowest height whose block, or one before it, has at least that time."""
    low, high = 0, state.active.height + 1
    while low < high:
        middle = (low + high) // 2
        entry = state.active.at(middle)
        assert entry is not None
        if entry.time_max < time:
            low = middle + 1
        else:
            high = middle
    if state.active.at(low) is None:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Could not find block with at least the specified timestamp.")
    return low
