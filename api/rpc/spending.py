"""The RPC method that tells who spends an output: gettxspendingprevout.

Owns: its answer and errors. Never: the pool, the index.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext, ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.index_access import has_index, wait_for_index
from clarion.api.rpc.parse import check_members, parse_hash, parse_int, parse_object, type_mismatch
from clarion.api.rpc.prevtxs import OUTPOINT_ARGS
from clarion.api.rpc.registry import NODE, READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.chain.indexes.tx_position import read_transaction_at
from clarion.node.errors import BlockFileError, RpcError
from clarion.node.primitives.ids import OutPoint, hash_to_hex, make_outpoint, outpoint_index, outpoint_txid
from clarion.node.primitives.transaction import Transaction
from clarion.plugins.bundled.txospenderindex import NAME, STORE_NAME

_T = ResultType


@rpc_method(
    "gettxspendingprevout",
    category="blockchain",
    where=READER,
    heavy=True,
    description="Returns which transactions of the mempool or, with txospenderindex, of blocks spend the given outputs.",
    args=[
        Arg(
            "outputs",
            ArgType.ARR,
            "The outputs",
            required=True,
            inner=(
                Arg(
                    "",
                    ArgType.OBJ,
                    inner=OUTPOINT_ARGS,
                ),
            ),
        ),
        Arg(
            "options",
            ArgType.OBJ_NAMED_PARAMS,
            inner=(
                Arg(
                    "mempool_only",
                    ArgType.BOOL,
                    "Whether spends in blocks are left out, for which txospenderindex is needed",
                    hint="true without txospenderindex, else false",
                ),
                Arg("return_spending_tx", ArgType.BOOL, "Whether to add the spending transaction", hint="false"),
            ),
        ),
    ],
    results=Result(
        _T.ARR,
        "",
        "",
        (
            Result(
                _T.OBJ,
                "",
                "",
                (
                    Result(_T.STR_HEX, "txid", "the output's transaction"),
                    Result(_T.NUM, "vout", "its number"),
                    Result(_T.STR_HEX, "spendingtxid", "who spends it, if anybody does", optional=True),
                    Result(_T.STR_HEX, "spendingtx", "that transaction, if asked for", optional=True),
                    Result(_T.STR_HEX, "blockhash", "the block of a spend that is confirmed", optional=True),
                ),
            ),
        ),
    ),
    examples=(('\'[{"txid":"…","vout":3}]\'', '[{"txid":"…","vout":3}]'),),
)
def gettxspendingprevout(
    ctx: ReaderContext, outputs: list[Any], options: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """Return each output with its spender: first those that the mempool knows, then those that the index must tell.

    Raises RpcError -8 or -3, -1 where only an index would know.
    """
    if not outputs:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Invalid parameter, outputs are missing")
    chosen = options or {}
    check_members(chosen, {"mempool_only": "bool", "return_spending_tx": "bool"}, nullable=True, strict=True)
    mempool_only = _flag(chosen, "mempool_only", not has_index(ctx, NAME))
    with_tx = _flag(chosen, "return_spending_tx", False)
    asked = [(_outpoint(value), value) for value in outputs]
    told: list[dict[str, Any]] = []
    left: list[tuple[OutPoint, dict[str, Any]]] = []
    spenders = ctx.node.call_blocking("_mempool_spenders", [outpoint.hex() for outpoint, _ in asked])
    for (outpoint, value), raw in zip(asked, spenders, strict=True):
        if raw is not None:
            told.append(value | _spent_by(Transaction.parse(bytes.fromhex(raw)), with_tx))
        elif mempool_only:
            told.append(value)
        else:
            left.append((outpoint, value))
    return told + (_by_index(ctx, left, with_tx) if left else [])


@rpc_method(
    "_mempool_spenders",
    category="hidden",
    where=NODE,
    internal=True,
    description="Looks up who spends outputs, given by their outpoints in hex.",
)
def mempool_spenders(ctx: NodeContext, *outpoints: str) -> list[str | None]:
    """Return the transaction of the mempool that spends each output, in hex; None where there is none."""
    pool = ctx.mempool.pool
    with pool.lock:
        found = [pool.spender(OutPoint(bytes.fromhex(outpoint))) for outpoint in outpoints]
    return [None if entry is None else entry.tx.raw.hex() for entry in found]


def _by_index(ctx: ReaderContext, left: list[tuple[OutPoint, dict[str, Any]]], with_tx: bool) -> list[dict[str, Any]]:
    if not has_index(ctx, NAME) or not wait_for_index(ctx, NAME, STORE_NAME):
        raise RpcError(RpcCode.MISC_ERROR, "Mempool lacks a relevant spend, and txospenderindex is unavailable.")
    with ctx.index(STORE_NAME).snapshot() as view:
        places = view.get_many([outpoint for outpoint, _ in left])
    return [value | _confirmed(ctx, outpoint, places.get(outpoint), with_tx) for outpoint, value in left]


def _confirmed(ctx: ReaderContext, outpoint: OutPoint, stored: bytes | None, with_tx: bool) -> dict[str, str]:
    if stored is None:
        return {}
    try:
        tx, block_hash = read_transaction_at(ctx.reader.block_files, stored)
    except BlockFileError:
        txid, number = hash_to_hex(outpoint_txid(outpoint)), outpoint_index(outpoint)
        raise RpcError(RpcCode.MISC_ERROR, f"IO error finding spending tx for outpoint {txid}:{number}.") from None
    return _spent_by(tx, with_tx) | {"blockhash": hash_to_hex(block_hash)}


def _flag(options: dict[str, Any], name: str, default: bool) -> bool:
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise type_mismatch(value, "bool")
    return value


def _outpoint(value: Any) -> OutPoint:
    check_members(parse_object(value), {"txid": "string", "vout": "number"}, nullable=False, strict=True)
    txid, index = parse_hash(value["txid"], "txid"), parse_int(value["vout"])
    if index < 0:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Invalid parameter, vout cannot be negative")
    return make_outpoint(txid, index)


def _spent_by(tx: Transaction, with_tx: bool) -> dict[str, str]:
    told = {"spendingtxid": hash_to_hex(tx.txid)}
    if with_tx:
        told["spendingtx"] = tx.raw.hex()
    return told
