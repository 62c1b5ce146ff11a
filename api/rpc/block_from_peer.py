"""The RPC method that fetches one block from one peer: getblockfrompeer.

Owns: its arguments and errors. Never: the request itself, which the network thread makes.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import INT64, parse_hash, parse_int
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.primitives.ids import BlockHash

_EXAMPLE = "00000000c937983704a73af28acdec37b049d214adbda81d7e2a3dd146f6ed09"


@rpc_method(
    "getblockfrompeer",
    category="blockchain",
    where=NODE,
    description="Asks one peer for one block whose header is known. The block comes later, without undo data, and may be\n"
    "pruned again at once. A second call for the same block may have the first peer's answer ignored. Peers do not serve\n"
    "stale blocks that are old or that they never checked in full; one that does not answer is left.",
    args=[
        Arg("blockhash", ArgType.STR_HEX, "Hash of the block", required=True),
        Arg("peer_id", ArgType.NUM, "Number of the peer (see getpeerinfo)", required=True),
    ],
    results=Result(ResultType.OBJ, "", ""),
    examples=((f'"{_EXAMPLE}" 0', f'"{_EXAMPLE}", 0'),),
)
def getblockfrompeer(ctx: NodeContext, blockhash: str, peer_id: Any) -> dict[str, Any]:
    """Ask a peer for a block. Raises RpcError -1 for a block or a peer that this can't be done for, -8."""
    block_hash, number = BlockHash(parse_hash(blockhash, "blockhash")), parse_int(peer_id, INT64)
    manager = ctx.chain.manager
    entry = manager.lookup(block_hash)
    if entry is None:
        raise RpcError(RpcCode.MISC_ERROR, "Block header missing")
    # A block far ahead of the tip would keep its file from being pruned.
    if ctx.config.prune_mib and entry.height > manager.tip.height:
        raise RpcError(
            RpcCode.MISC_ERROR,
            "In prune mode, only blocks that the node has already synced previously can be fetched from a peer",
        )
    if entry.has_data:
        raise RpcError(RpcCode.MISC_ERROR, "Block already downloaded")
    reason = ctx.network.call(ctx.network.sync.fetch, number, entry)
    if reason is not None:
        raise RpcError(RpcCode.MISC_ERROR, reason)
    return {}
