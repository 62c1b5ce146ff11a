"""RPC methods about the stored mempool: savemempool, importmempool.

Owns: their arguments and errors. Never: the file (see `node.mempool.persist`).
"""

from pathlib import Path
from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import type_mismatch
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.mempool.persist import ImportOptions


@rpc_method(
    "savemempool",
    category="blockchain",
    where=NODE,
    description="Stores the mempool on disk. Fails until the stored one has been loaded.",
    results=Result(
        ResultType.OBJ, "", "", (Result(ResultType.STR, "filename", "directory and name of the file that was written"),)
    ),
)
def savemempool(ctx: NodeContext) -> dict[str, str]:
    """Write mempool.dat. Raises RpcError -1 if that fails or is too early."""
    if not ctx.mempool.pool.load_tried:
        raise RpcError(RpcCode.MISC_ERROR, "The mempool was not loaded yet")
    if not ctx.mempool.save():
        raise RpcError(RpcCode.MISC_ERROR, "Unable to dump mempool to disk")
    return {"filename": str(ctx.mempool.file)}


@rpc_method(
    "importmempool",
    category="blockchain",
    where=NODE,
    description="Offers the transactions of a mempool.dat file to the mempool.\n"
    "Don't import files that you do not trust, least of all with their metadata.",
    args=[
        Arg("filepath", ArgType.STR, "the file", required=True),
        Arg(
            "options",
            ArgType.OBJ_NAMED_PARAMS,
            "what is taken over from the file",
            oneline="options",
            inner=(
                Arg(
                    "use_current_time",
                    ArgType.BOOL,
                    "whether the transactions count as come now, instead of at the times in the file",
                    default=True,
                ),
                Arg(
                    "apply_fee_delta_priority",
                    ArgType.BOOL,
                    "whether the file's fee deltas (see prioritisetransaction) are added to those there are",
                    default=False,
                ),
                Arg(
                    "apply_unbroadcast_set",
                    ArgType.BOOL,
                    "whether the node tells peers of what the file says no peer has asked for",
                    default=False,
                ),
            ),
        ),
    ],
    results=Result(ResultType.OBJ),
    examples=(("/path/to/mempool.dat", '"/path/to/mempool.dat"'),),
)
def importmempool(ctx: NodeContext, filepath: str, options: dict[str, Any] | None) -> dict[str, str]:
    """Take a file in. Raises RpcError -10 in initial download, -1 if the file can't be read."""
    if ctx.chain.manager.initial_download:
        raise RpcError(
            RpcCode.CLIENT_IN_INITIAL_DOWNLOAD,
            "Can only import the mempool after the block download and sync is done.",
        )
    given = options or {}
    chosen = ImportOptions(
        use_current_time=_flag(given, "use_current_time", True),
        apply_fee_delta_priority=_flag(given, "apply_fee_delta_priority", False),
        apply_unbroadcast_set=_flag(given, "apply_unbroadcast_set", False),
    )
    # No file has a name with a zero character in it.
    if "\0" in filepath or not ctx.mempool.import_file(Path(filepath), chosen, ctx.stopping):
        raise RpcError(RpcCode.MISC_ERROR, "Unable to import mempool file, see debug log for details.")
    return {}


def _flag(options: dict[str, Any], name: str, default: bool) -> bool:
    value = options.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise type_mismatch(value, "bool")
    return value
