"""RPC methods that read blocks and headers from a snapshot of the database.

Owns: their arguments and answers. Never: anything that only the live node knows (see `chain_state`).
"""

from typing import Any

from clarion.api.render.block import header_json
from clarion.api.render.numbers import number_json
from clarion.api.rpc.block_results import BLOCK_RESULTS, HEADER_FIELDS
from clarion.api.rpc.blocks import block_hex, block_text, find_placed
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_hash, parse_int, parse_verbosity
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.consensus.pow import difficulty
from clarion.node.errors import RpcError
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.chain_reader import ChainSnapshot
from clarion.node.storage.rows import BlockRow

_HASH_EXAMPLE = '"00000000c937983704a73af28acdec37b049d214adbda81d7e2a3dd146f6ed09"'
_BLOCK_HASH = Arg("blockhash", ArgType.STR_HEX, "The block's hash", required=True)


def tip_row(snapshot: ChainSnapshot) -> BlockRow:
    """Return the active chain's last block; a node that is ready always has one."""
    row = snapshot.tip()
    assert row is not None, "the active chain is empty"
    return row


@rpc_method(
    "getblockcount",
    category="blockchain",
    where=READER,
    description="Returns the height of the most-work fully validated chain. The genesis block has height 0.",
    results=Result(ResultType.NUM, "", "The height"),
)
def getblockcount(ctx: ReaderContext) -> int:
    """Return the height of the active chain."""
    with ctx.reader.snapshot() as snapshot:
        return snapshot.height()


@rpc_method(
    "getbestblockhash",
    category="blockchain",
    where=READER,
    description="Returns the hash of the tip of the most-work fully validated chain.",
    results=Result(ResultType.STR_HEX, "", "The block's hash"),
)
def getbestblockhash(ctx: ReaderContext) -> str:
    """Return the hash of the active chain's tip."""
    with ctx.reader.snapshot() as snapshot:
        return hash_to_hex(tip_row(snapshot).hash)


@rpc_method(
    "getdifficulty",
    category="blockchain",
    where=READER,
    description="Returns the proof-of-work difficulty as a multiple of the lowest one.",
    results=Result(ResultType.NUM, "", "The difficulty"),
)
def getdifficulty(ctx: ReaderContext) -> Any:
    """Return the difficulty of the tip."""
    with ctx.reader.snapshot() as snapshot:
        return number_json(difficulty(int.from_bytes(tip_row(snapshot).header[72:76], "little")))


@rpc_method(
    "getblockhash",
    category="blockchain",
    where=READER,
    description="Returns the hash of the block at a height of the active chain.",
    args=[Arg("height", ArgType.NUM, "The height", required=True)],
    results=Result(ResultType.STR_HEX, "", "The block's hash"),
    examples=(("1000", "1000"),),
)
def getblockhash(ctx: ReaderContext, height: Any) -> str:
    """Return the active chain's hash at a height. Raises RpcError -8."""
    number = parse_int(height)
    with ctx.reader.snapshot() as snapshot:
        block_hash = snapshot.hash_at(number) if number >= 0 else None
    if block_hash is None:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Block height out of range")
    return hash_to_hex(block_hash)


@rpc_method(
    "getblockheader",
    category="blockchain",
    where=READER,
    description="Returns a block's header: as an object if verbose is true, else its 80 bytes in hex.",
    args=[_BLOCK_HASH, Arg("verbose", ArgType.BOOL, "true for an object, false for hex", default=True)],
    results=[
        Result(ResultType.OBJ, "", "", HEADER_FIELDS, condition="for verbose = true"),
        Result(ResultType.STR_HEX, "", "the header's bytes", condition="for verbose=false"),
    ],
    examples=((_HASH_EXAMPLE, _HASH_EXAMPLE),),
)
def getblockheader(ctx: ReaderContext, blockhash: str, verbose: bool) -> Any:
    """Return a header on any branch. Raises RpcError -5."""
    block_hash = parse_hash(blockhash, "hash")
    with ctx.reader.snapshot() as snapshot:
        row, place = find_placed(snapshot, block_hash)
    return header_json(place) if verbose else row.header.hex()


@rpc_method(
    "getblock",
    category="blockchain",
    where=READER,
    heavy=True,
    description="Returns a block. Verbosity 0: its bytes in hex; 1: an object with txids; 2: with whole transactions;\n"
    "3: with the outputs that the inputs spend too, where undo data is there.",
    args=[
        _BLOCK_HASH,
        Arg(
            "verbosity|verbose",
            ArgType.NUM,
            "0 for hex, 1 for an object, 2 with transactions, 3 with the spent outputs",
            default=1,
            unchecked=True,
        ),
    ],
    results=BLOCK_RESULTS,
    examples=((_HASH_EXAMPLE, _HASH_EXAMPLE),),
)
def getblock(ctx: ReaderContext, blockhash: str, verbosity: Any) -> bytes:
    """Return a block on any branch as JSON text. Raises RpcError -5, or -1 if its data is not there."""
    block_hash = parse_hash(blockhash, "blockhash")
    level = parse_verbosity(verbosity, 1)
    with ctx.reader.snapshot() as snapshot:
        row, place = find_placed(snapshot, block_hash)
    # The answer is put together outside of the snapshot: a block never changes, only its place does.
    return block_hex(ctx, row) if level <= 0 else block_text(ctx, place, row, level)
