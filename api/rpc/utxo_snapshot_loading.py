"""The RPC method that starts the chain from a file of all unspent outputs: loadtxoutset.

Owns: its argument, answer and errors. Never: the load (`node.chain.snapshot`).
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import DecodeError, RpcError, SnapshotError
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.utxo_snapshot_reader import read_head

_T = ResultType


@rpc_method(
    "loadtxoutset",
    category="blockchain",
    where=NODE,
    description="Makes the unspent outputs of a file (see dumptxoutset) the state of the chain, so that the node is at the\n"
    "network's tip long before it has validated all blocks. It takes files of blocks whose hash this program knows, and no\n"
    "others: who made the file does not matter. The blocks below are validated behind everything else, from the chain as\n"
    "it is now up to the file's block; getchainstates tells how far that is.\n"
    "It takes long on a large set: clients should wait without a time-out.",
    args=[Arg("path", ArgType.STR, "The file; a relative path begins in the network's data directory", required=True)],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.NUM, "coins_loaded", "number of outputs in the file"),
            Result(_T.STR_HEX, "tip_hash", "hash of the block that they belong to"),
            Result(_T.NUM, "base_height", "its height"),
            Result(_T.STR, "path", "the file's absolute path"),
        ),
    ),
    examples=(("utxo.dat", '"utxo.dat"'),),
)
def loadtxoutset(ctx: NodeContext, path: str) -> dict[str, Any]:
    """Load the file. Raises RpcError -8, -22 or -32603."""
    place = ctx.config.chain_dir / path
    try:
        file = place.open("rb")
    except OSError:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Couldn't open file {place} for reading.") from None
    with file:
        try:
            head = read_head(file, ctx.params.magic)
        except DecodeError as error:
            raise RpcError(RpcCode.DESERIALIZATION_ERROR, f"Unable to parse metadata: {error}") from None
        except OSError:
            raise RpcError(RpcCode.INVALID_PARAMETER, f"Couldn't open file {place} for reading.") from None
        try:
            base = ctx.snapshots.load(file, head)
        except SnapshotError as error:
            raise RpcError(RpcCode.INTERNAL_ERROR, f"Unable to load UTXO snapshot: {error}. ({place})") from None
    return {
        "coins_loaded": head.coins,
        "tip_hash": hash_to_hex(base.hash),
        "base_height": base.height,
        "path": str(place),
    }
