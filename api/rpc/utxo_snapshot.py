"""The RPC method that writes all unspent outputs to a file: dumptxoutset.

Owns: its arguments, answers and errors, which block the file is of, and its name until it is complete. Never: the format
(`storage.utxo_snapshot`).
"""

import os
import stat
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from clarion.api.rpc.block_stats import find_by_hash_or_height
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import check_members
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.consensus.disconnect import disconnect_block
from clarion.node.errors import BlockFileError, DecodeError, RpcError
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.block_status import HAVE_MASK
from clarion.node.storage.coin_changes import CoinChanges
from clarion.node.storage.coin_sql import CoinRow
from clarion.node.storage.rows import BlockRow
from clarion.node.storage.utxo_snapshot import WrittenSet, write_snapshot

_T = ResultType


@rpc_method(
    "dumptxoutset",
    category="blockchain",
    where=READER,
    heavy=True,
    description="Writes all unspent outputs to a file, as they are or as they were at an earlier block.\n"
    "The chain goes on meanwhile, and stays as it is. What was spent since an earlier block is kept in a database beside\n"
    "the file until it is written. It takes long on a large set: clients should wait without a time-out.",
    args=[
        Arg("path", ArgType.STR, "The file; a relative path begins in the network's data directory", required=True),
        Arg(
            "type",
            ArgType.STR,
            '"latest" for the outputs as they are, "rollback" for those at an earlier block: that of the option, or the\n'
            "last one whose hash this program knows. May be left out with the option",
            default="",
        ),
        Arg(
            "options",
            ArgType.OBJ_NAMED_PARAMS,
            inner=(
                Arg(
                    "rollback",
                    ArgType.NUM,
                    "Height or hash of the block; the further back, the longer it takes",
                    unchecked=True,
                    type_label="string or numeric",
                ),
                Arg("in_memory", ArgType.BOOL, "Keep what was spent since then in memory", default=False),
            ),
        ),
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.NUM, "coins_written", "number of outputs in the file"),
            Result(_T.STR_HEX, "base_hash", "hash of the block that they belong to"),
            Result(_T.NUM, "base_height", "its height"),
            Result(_T.STR, "path", "the file's absolute path"),
            Result(_T.STR_HEX, "txoutset_hash", "hash_serialized_3 of the outputs"),
            Result(_T.NUM, "nchaintx", "number of transactions up to that block"),
        ),
    ),
    examples=(
        ("utxo.dat latest", '"utxo.dat", "latest"'),
        ("utxo.dat rollback", '"utxo.dat", "rollback"'),
        ("utxo.dat rollback '{\"rollback\": 853456}'", '"utxo.dat", "rollback", {"rollback": 853456}'),
    ),
)
def dumptxoutset(ctx: ReaderContext, path: str, kind: str, options: dict[str, Any] | None) -> dict[str, Any]:
    """Write the file. Raises RpcError -8, -5, -1."""
    chosen = options or {}
    check_members(chosen, {"in_memory": "bool"}, nullable=True)
    target = _target(ctx, kind, chosen)
    goal = ctx.settings.chain_dir / path
    direct = goal.exists() and stat.S_ISFIFO(goal.stat().st_mode)
    if goal.exists() and not direct:
        raise RpcError(
            RpcCode.INVALID_PARAMETER,
            f"{goal} already exists. If you are sure this is what you want, move it out of the way first",
        )
    # Whoever is interrupted leaves nothing that looks complete.
    written_to = goal if direct else goal.with_name(f"{goal.name}.incomplete")
    try:
        file = written_to.open("wb")
    except OSError:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Couldn't open file {written_to} for writing.") from None
    try:
        with file:
            base, written = _dump(ctx, file, goal, target, in_memory=bool(chosen.get("in_memory")), seekable=not direct)
            file.flush()
            if not direct:
                os.fsync(file.fileno())
        if not direct:
            written_to.rename(goal)
    except BaseException as error:
        if not direct:
            written_to.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise RpcError(RpcCode.MISC_ERROR, f"Error writing {written_to}: {error.strerror}") from None
        raise
    return {
        "coins_written": written.coins,
        "base_hash": hash_to_hex(base.hash),
        "base_height": base.height,
        "path": str(goal),
        "txoutset_hash": hash_to_hex(written.hash_serialized),
        "nchaintx": base.chain_tx_count,
    }


def _target(ctx: ReaderContext, kind: str, options: dict[str, Any]) -> BlockRow | None:
    """Return the block that is wanted, None for the tip."""
    if "rollback" in options:
        if kind not in ("", "rollback"):
            raise RpcError(RpcCode.INVALID_PARAMETER, f'Invalid snapshot type "{kind}" specified with rollback option')
        wanted = options["rollback"]
    elif kind == "rollback":
        wanted = max(each.height for each in ctx.params.assume_utxo)
    elif kind == "latest":
        return None
    else:
        raise RpcError(
            RpcCode.INVALID_PARAMETER,
            f'Invalid snapshot type "{kind}" specified. Please specify "rollback" or "latest"',
        )
    with ctx.reader.snapshot() as snapshot:
        return find_by_hash_or_height(snapshot, wanted)


def _dump(
    ctx: ReaderContext, file: BinaryIO, goal: Path, target: BlockRow | None, *, in_memory: bool, seekable: bool
) -> tuple[BlockRow, WrittenSet]:
    """Write the coins at `target` (None: the tip), and return the block that they belong to, and what was written."""
    ctx.node.call_blocking("_flush", [])
    with ctx.reader.coins() as coins, ExitStack() as stack:
        tip = coins.tip()
        assert tip is not None, "the set was flushed"
        left = _blocks_above(ctx, tip, target)

        changes: CoinChanges | None = None
        if len(left) > 1:
            place = None if in_memory else goal.with_name(f"temp_utxo_{left[-1].height}")
            changes = stack.enter_context(CoinChanges(place))
            _take_back(ctx, left[:-1], changes)

        def rows() -> Iterable[CoinRow]:
            return coins.rows() if changes is None else changes.over(coins.rows())

        # What can't be written over must be counted beforehand.
        count = None if seekable else sum(1 for _ in rows())
        return left[-1], write_snapshot(file, ctx.params.magic, left[-1].hash, rows(), count)


def _blocks_above(ctx: ReaderContext, tip: bytes, target: BlockRow | None) -> list[BlockRow]:
    """Return the blocks from the one that the coins stand at down to the target, both included. Raises RpcError."""
    with ctx.reader.snapshot() as snapshot:
        row = snapshot.block(tip)
        assert row is not None, "the coins' tip is in the block index"
        if target is None:
            return [row]
        found = snapshot.ancestors(row, row.height - target.height + 1) if target.height <= row.height else []
    if not found or found[-1].hash != target.hash:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Block is not in main chain")
    if any(each.status & HAVE_MASK != HAVE_MASK for each in found[:-1]):
        raise RpcError(
            RpcCode.MISC_ERROR,
            "Could not roll back to requested height since necessary block data is already pruned.",
        )
    return found


def _take_back(ctx: ReaderContext, rows: Iterable[BlockRow], changes: CoinChanges) -> None:
    for row in rows:
        try:
            block = Block.parse(ctx.reader.read_block(row))
            delta = disconnect_block(block, ctx.reader.read_undo(row), row.height)
        except (BlockFileError, DecodeError):
            raise RpcError(RpcCode.INTERNAL_ERROR, f"Failed to roll back block at height {row.height}") from None
        changes.apply(delta.removed, delta.restored)
