"""RPC methods about the stored chain: verifychain.

Owns: their arguments and errors. Never: the checks themselves.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.parse import INT32, parse_int
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.chain.verify import Verifier, VerifyResult

DEFAULT_LEVEL = 3
DEFAULT_BLOCKS = 6


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
