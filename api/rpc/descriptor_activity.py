"""getdescriptoractivity: what descriptors received and spent in blocks and in the mempool.

Owns: the search and its answer. Never: finding the blocks (`scan_blocks`), parsing descriptors.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.api.render.script import script_pubkey_json
from clarion.api.rpc.block_results import SCRIPT_PUBKEY_FIELDS
from clarion.api.rpc.blocks import find_row, missing_reason, read_raw
from clarion.api.rpc.context import NodeContext, ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.outputs import scripts_of_scan_object
from clarion.api.rpc.parse import parse_hash
from clarion.api.rpc.registry import NODE, READER, rpc_method
from clarion.api.rpc.scan import SCAN_OBJECTS
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.transaction_sources import spent_outputs
from clarion.node.errors import BlockFileError, RpcError
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.ids import OutPoint, hash_to_hex, outpoint_index, outpoint_txid
from clarion.node.primitives.transaction import Transaction
from clarion.node.storage.block_status import HAVE_UNDO
from clarion.node.storage.rows import BlockRow

_T = ResultType
_PLACE = (
    Result(_T.STR_HEX, "blockhash", "the block, not for the mempool", optional=True),
    Result(_T.NUM, "height", "its height, not for the mempool", optional=True),
)


@rpc_method(
    "_mempool_raw",
    category="hidden",
    where=NODE,
    internal=True,
    description="Returns all transactions of the mempool in hex.",
)
def mempool_raw(ctx: NodeContext) -> list[str]:
    """Return the transactions in hex, parents first."""
    pool = ctx.mempool.pool
    with pool.lock:
        entries = pool.sorted_entries()
    return [entry.tx.raw.hex() for entry in entries]


@rpc_method(
    "getdescriptoractivity",
    category="blockchain",
    where=READER,
    heavy=True,
    description="Returns what descriptors receive and spend in the given blocks, such as those of scanblocks.",
    args=[
        Arg(
            "blockhashes",
            ArgType.ARR,
            "The blocks, in any order; all in the active chain",
            required=True,
            inner=(Arg("blockhash", ArgType.STR_HEX, "A block"),),
        ),
        Arg(
            "scanobjects",
            ArgType.ARR,
            "What to look for. Each is a descriptor or an object:",
            required=True,
            inner=SCAN_OBJECTS,
            oneline="[scanobjects,...]",
        ),
        Arg("include_mempool", ArgType.BOOL, "Whether the mempool counts too", default=True),
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(
                _T.ARR,
                "activity",
                "in the order of the chain",
                (
                    Result(
                        _T.OBJ,
                        "",
                        "",
                        (
                            Result(_T.STR, "type", "always 'spend'"),
                            Result(_T.STR_AMOUNT, "amount", "value of the spent output in BTC"),
                            *_PLACE,
                            Result(_T.STR_HEX, "spend_txid", "the spending transaction"),
                            Result(_T.NUM, "spend_vin", "number of its input"),
                            Result(_T.STR_HEX, "prevout_txid", "the transaction of the spent output"),
                            Result(_T.NUM, "prevout_vout", "number of that output"),
                            Result(_T.OBJ, "prevout_spk", "its script", SCRIPT_PUBKEY_FIELDS),
                        ),
                    ),
                    Result(
                        _T.OBJ,
                        "",
                        "",
                        (
                            Result(_T.STR, "type", "always 'receive'"),
                            Result(_T.STR_AMOUNT, "amount", "value of the new output in BTC"),
                            *_PLACE,
                            Result(_T.STR_HEX, "txid", "the receiving transaction"),
                            Result(_T.NUM, "vout", "number of the output"),
                            Result(_T.OBJ, "output_spk", "its script", SCRIPT_PUBKEY_FIELDS),
                        ),
                    ),
                ),
            ),
        ),
    ),
    examples=(("'[\"hash\"]' '[\"addr(…)\"]'", '["hash"], ["addr(…)"]'),),
)
def getdescriptoractivity(
    ctx: ReaderContext, blockhashes: list[Any], scanobjects: list[Any], include_mempool: bool
) -> dict[str, Any]:
    """Return spends and receipts. Raises RpcError -5 or -8 for a block, -1 where its data is missing."""
    rows = _rows(ctx, blockhashes)
    scripts: set[bytes] = set()
    for scanobject in scanobjects:
        scripts.update(scripts_of_scan_object(scanobject, ctx.params))
    activity: list[dict[str, Any]] = []
    for row in rows:
        block = Block.parse(read_raw(ctx, row))
        place = {"blockhash": hash_to_hex(row.hash), "height": row.height}
        for tx, coins in zip(block.txs, [[], *_undo(ctx, row)], strict=True):
            prevouts = {txin.prevout: coin for txin, coin in zip(tx.inputs, coins, strict=False)}
            activity += _activity(ctx, tx, prevouts, scripts, place)
    if include_mempool:
        for raw in ctx.node.call_blocking("_mempool_raw", []):
            tx = Transaction.parse(bytes.fromhex(raw))
            activity += _activity(ctx, tx, spent_outputs(ctx, tx), scripts, {})
    return {"activity": activity}


def _rows(ctx: ReaderContext, blockhashes: Sequence[Any]) -> list[BlockRow]:
    """Return the blocks by height, each once."""
    rows: dict[int, BlockRow] = {}
    with ctx.reader.snapshot() as snapshot:
        for value in blockhashes:
            row = find_row(snapshot, parse_hash(value, "blockhash"))
            if not snapshot.is_active(row):
                raise RpcError(RpcCode.INVALID_PARAMETER, "Block is not in main chain")
            rows[row.height] = row
    return [rows[height] for height in sorted(rows)]


def _undo(ctx: ReaderContext, row: BlockRow) -> Sequence[Sequence[SpentOutput]]:
    if row.height and not row.status & HAVE_UNDO:
        raise RpcError(RpcCode.MISC_ERROR, f"Undo data not available ({missing_reason(row)})")
    try:
        return ctx.reader.read_undo(row)
    except BlockFileError:
        raise RpcError(RpcCode.MISC_ERROR, "Can't read undo data from disk") from None


def _activity(
    ctx: ReaderContext,
    tx: Transaction,
    prevouts: Mapping[OutPoint, SpentOutput],
    scripts: set[bytes],
    place: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    for number, txin in enumerate(tx.inputs):
        spent = prevouts.get(txin.prevout)
        if spent is not None and spent.script_pubkey in scripts:
            yield {
                "type": "spend",
                "amount": amount_json(spent.value),
                **place,
                "spend_txid": hash_to_hex(tx.txid),
                "spend_vin": number,
                "prevout_txid": hash_to_hex(outpoint_txid(txin.prevout)),
                "prevout_vout": outpoint_index(txin.prevout),
                "prevout_spk": script_pubkey_json(spent.script_pubkey, ctx.params),
            }
    for number, txout in enumerate(tx.outputs):
        if txout.script_pubkey in scripts:
            yield {
                "type": "receive",
                "amount": amount_json(txout.value),
                **place,
                "txid": hash_to_hex(tx.txid),
                "vout": number,
                "output_spk": script_pubkey_json(txout.script_pubkey, ctx.params),
            }
