"""The RPC method that tells who spends an output: gettxspendingprevout.

Owns: its answer and errors. Never: the pool.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import check_members, parse_hash, parse_int, parse_object, type_mismatch
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.primitives.ids import OutPoint, hash_to_hex, make_outpoint
from clarion.node.primitives.transaction import Transaction

_T = ResultType


@rpc_method(
    "gettxspendingprevout",
    category="blockchain",
    where=NODE,
    description="Returns which transactions of the mempool spend the given outputs.",
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
                    inner=(
                        Arg("txid", ArgType.STR_HEX, "The transaction", required=True),
                        Arg("vout", ArgType.NUM, "Number of the output", required=True),
                    ),
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
def gettxspendingprevout(ctx: NodeContext, outputs: list[Any], options: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return each output with its spender. Raises RpcError -8 or -3, -1 where only an index would know."""
    if not outputs:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Invalid parameter, outputs are missing")
    chosen = options or {}
    check_members(chosen, {"mempool_only": "bool", "return_spending_tx": "bool"}, nullable=True, strict=True)
    mempool_only, with_tx = _flag(chosen, "mempool_only", True), _flag(chosen, "return_spending_tx", False)
    asked = [(_outpoint(value), value) for value in outputs]
    pool = ctx.mempool.pool
    with pool.lock:
        spenders = [pool.spender(outpoint) for outpoint, _ in asked]
    if None in spenders and not mempool_only:
        raise RpcError(RpcCode.MISC_ERROR, "Mempool lacks a relevant spend, and txospenderindex is unavailable.")
    return [
        {**value, **({} if spender is None else _spent_by(spender.tx, with_tx))}
        for (_, value), spender in zip(asked, spenders, strict=True)
    ]


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
