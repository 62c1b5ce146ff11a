"""RPC methods that change which chain is active: invalidateblock, reconsiderblock, preciousblock.

Owns: their arguments and errors. Never: the change itself, which the chain thread makes.
"""

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_hash
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.errors import RpcError, SnapshotError
from clarion.node.primitives.ids import BlockHash

_NOTHING = Result(ResultType.NONE)
_EXAMPLES = (('"blockhash"', '"blockhash"'),)


def _block_arg(description: str) -> Arg:
    return Arg("blockhash", ArgType.STR_HEX, description, required=True)


def find_block(ctx: NodeContext, block_hash: str) -> BlockIndexEntry:
    """Return the entry of a block that a client names. Raises RpcError -8 or -5 `Block not found`."""
    entry = ctx.chain.manager.lookup(BlockHash(parse_hash(block_hash, "blockhash")))
    if entry is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Block not found")
    return entry


@rpc_method(
    "preciousblock",
    category="blockchain",
    where=NODE,
    description="Prefers a block to others with the same work, as if it had arrived first.\n"
    "A later call can override an earlier one; a restart forgets it.",
    args=[_block_arg("hash of the block to prefer")],
    results=_NOTHING,
    examples=_EXAMPLES,
)
def preciousblock(ctx: NodeContext, blockhash: str) -> None:
    """Prefer a block among those of equal work."""
    entry = find_block(ctx, blockhash)
    ctx.chain.submit(ctx.chain.manager.precious_block, entry).result()


@rpc_method(
    "invalidateblock",
    category="hidden",
    where=NODE,
    description="Marks a block as invalid for good, as if it broke a consensus rule, and leaves its chain.",
    args=[_block_arg("hash of the block to mark as invalid")],
    results=_NOTHING,
    examples=_EXAMPLES,
)
def invalidateblock(ctx: NodeContext, blockhash: str) -> None:
    """Mark a block invalid. Raises RpcError -5, or -20 for one that a snapshot rests on."""
    entry = find_block(ctx, blockhash)
    try:
        ctx.chain.submit(ctx.chain.manager.invalidate_block, entry).result()
    except SnapshotError as error:
        raise RpcError(RpcCode.DATABASE_ERROR, str(error)) from None


@rpc_method(
    "reconsiderblock",
    category="hidden",
    where=NODE,
    description="Takes the mark of invalidity off a block, its ancestors and its descendants.\n"
    "This undoes what invalidateblock did.",
    args=[_block_arg("hash of the block to consider again")],
    results=_NOTHING,
    examples=_EXAMPLES,
)
def reconsiderblock(ctx: NodeContext, blockhash: str) -> None:
    """Forget that a block was found invalid."""
    entry = find_block(ctx, blockhash)
    ctx.chain.submit(ctx.chain.manager.reconsider_block, entry).result()
