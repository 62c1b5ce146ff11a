"""RPC methods that offer transactions to the mempool: sendrawtransaction, testmempoolaccept, submitpackage.

Owns: their arguments, the sender's own limits on fees and burnt coins, answers and errors. Never: judging transactions.
"""

from collections.abc import Sequence
from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_amount, parse_str
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.transaction_args import decode_transaction
from clarion.node.errors import RpcError
from clarion.node.mempool.accept.broadcast import BroadcastFailed, TransactionError, broadcast_transaction
from clarion.node.mempool.accept.rejection import TxRejection
from clarion.node.mempool.accept.result import AcceptResult, PackageRejection, PackageResult, ResultKind
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.policy.packages import MAX_PACKAGE_COUNT, is_child_with_parents_tree
from clarion.node.primitives.amounts import COIN
from clarion.node.primitives.ids import Wtxid, hash_to_hex
from clarion.node.primitives.script import has_valid_ops, is_unspendable
from clarion.node.primitives.transaction import Transaction

_T = ResultType
_CODES = {
    TransactionError.MEMPOOL_REJECTED: RpcCode.VERIFY_REJECTED,
    TransactionError.ALREADY_IN_UTXO_SET: RpcCode.VERIFY_ALREADY_IN_UTXO_SET,
}
_MAX_FEERATE = Arg(
    "maxfeerate",
    ArgType.AMOUNT,
    "Refuse a fee rate above this, in BTC/kvB. It must be below 1 BTC/kvB; 0 allows any.",
    default="0.10",
)
_MAX_BURN = Arg(
    "maxburnamount",
    ArgType.AMOUNT,
    "Refuse an output that plainly can't be spent, such as one with OP_RETURN, and that is worth more than this, in BTC",
    default="0.00",
)
_RAW_TRANSACTION = Arg("rawtx", ArgType.STR_HEX, "")
_BASE_FEE = Result(_T.STR_AMOUNT, "base", "fee of the transaction in BTC")
_INCLUDES = (Result(_T.STR_HEX, "", "a wtxid"),)


@rpc_method(
    "sendrawtransaction",
    category="rawtransactions",
    where=NODE,
    description="Takes a transaction into the mempool, from where it is sent to all peers.\n"
    "One whose outputs are in the chain already is an error of its own (-27).\n"
    "See also createrawtransaction and signrawtransactionwithkey.",
    args=[
        Arg("hexstring", ArgType.STR_HEX, "the raw transaction", required=True),
        _MAX_FEERATE,
        _MAX_BURN,
    ],
    results=Result(_T.STR_HEX, "", "the txid"),
    examples=(('"signedhex"', '"signedhex"'),),
)
def sendrawtransaction(ctx: NodeContext, hexstring: str, maxfeerate: Any, maxburnamount: Any) -> str:
    """Broadcast a transaction. Raises RpcError -22, -25, -26 or -27."""
    max_burn = parse_amount(maxburnamount)
    tx = decode_transaction(hexstring)
    if tx is None:
        raise RpcError(RpcCode.DESERIALIZATION_ERROR, "TX decode failed. Make sure the tx has at least one input.")
    _check_burn(tx, max_burn)
    max_fee = _parse_feerate(maxfeerate).fee(tx.vsize)
    try:
        broadcast_transaction(ctx.mempool.acceptor, tx, max_fee or None)
    except BroadcastFailed as failed:
        raise _rpc_error(failed) from None
    ctx.network.soon(ctx.network.relay.announce, [tx.txid])
    return hash_to_hex(tx.txid)


@rpc_method(
    "testmempoolaccept",
    category="rawtransactions",
    where=NODE,
    description="Says whether transactions would be taken into the mempool, one on top of the other.\n"
    "Several must stand parents first, and may conflict neither with the mempool nor with each other.\n"
    f"At most {MAX_PACKAGE_COUNT}. Where one fails, others may be left without a verdict.",
    args=[
        Arg("rawtxs", ArgType.ARR, "Raw transactions", required=True, inner=(_RAW_TRANSACTION,)),
        _MAX_FEERATE,
    ],
    results=Result(
        _T.ARR,
        "",
        "a result for each transaction in the given order",
        (
            Result(
                _T.OBJ,
                "",
                "",
                (
                    Result(_T.STR_HEX, "txid", "the txid"),
                    Result(_T.STR_HEX, "wtxid", "the hash with the witness"),
                    Result(_T.STR, "package-error", "what is wrong with the list as a whole", optional=True),
                    Result(_T.BOOL, "allowed", "whether it would come in; missing without a verdict", optional=True),
                    Result(_T.NUM, "vsize", "virtual size, if allowed (sigop-adjusted)", optional=True),
                    Result(
                        _T.OBJ,
                        "fees",
                        "if allowed",
                        (
                            _BASE_FEE,
                            Result(_T.STR_AMOUNT, "effective-feerate", "rate that counted, in BTC/kvB"),
                            Result(_T.ARR, "effective-includes", "whose fees and sizes make that rate", _INCLUDES),
                        ),
                        optional=True,
                    ),
                    Result(_T.STR, "reject-reason", "why not, if it is not allowed", optional=True),
                    Result(_T.STR, "reject-details", "the same with details", optional=True),
                ),
            ),
        ),
    ),
    examples=(("'[\"signedhex\"]'", '["signedhex"]'),),
)
def testmempoolaccept(ctx: NodeContext, rawtxs: list[Any], maxfeerate: Any) -> list[dict[str, Any]]:
    """Return the verdict on each transaction. Raises RpcError -8 or -22."""
    _check_count(rawtxs)
    max_feerate = _parse_feerate(maxfeerate)
    txs = [_decode_member(raw) for raw in rawtxs]
    acceptor = ctx.mempool.acceptor
    if len(txs) > 1:
        told = acceptor.accept_package(txs, test=True)
    else:
        told = PackageResult(None, {txs[0].wtxid: acceptor.accept(txs[0], test=True)})
    answers = []
    too_dear = False
    for tx in txs:
        answer: dict[str, Any] = {"txid": hash_to_hex(tx.txid), "wtxid": hash_to_hex(tx.wtxid)}
        if told.error is not None and told.error.rejection is PackageRejection.PCKG_POLICY:
            answer["package-error"] = str(told.error)
        result = told.results.get(tx.wtxid)
        # Behind a transaction that its sender would not send, no verdict on those that depend on it makes sense.
        if result is not None and not too_dear:
            too_dear = _is_too_dear(result, max_feerate)
            answer |= {"allowed": False, "reject-reason": "max-fee-exceeded"} if too_dear else _verdict(result)
        answers.append(answer)
    return answers


def _is_too_dear(result: AcceptResult, max_feerate: FeeRate) -> bool:
    if result.base_fee_sat is None or result.vsize is None:
        return False
    max_fee = max_feerate.fee(result.vsize)
    return 0 < max_fee < result.base_fee_sat


def _verdict(result: AcceptResult) -> dict[str, Any]:
    error = result.error
    if error is None:
        return {"allowed": True, "vsize": result.vsize, "fees": _fees(result)}
    if error.rejection is TxRejection.TX_MISSING_INPUTS:
        return {"allowed": False, "reject-reason": "missing-inputs"}
    return {"allowed": False, "reject-reason": error.reject_reason, "reject-details": str(error)}


@rpc_method(
    "submitpackage",
    category="rawtransactions",
    where=NODE,
    description="Takes a transaction and some or all of its unconfirmed parents into the mempool, as far as they pass.\n"
    "A parent whose fee is too low alone is judged together with its child.\n"
    "No parent may depend on another, and the child stands last. A transaction by itself is taken too.\n"
    "That it is in this mempool does not mean that a package spreads over the network.",
    args=[
        Arg("package", ArgType.ARR, "Raw transactions, parents first", required=True, inner=(_RAW_TRANSACTION,)),
        _MAX_FEERATE,
        _MAX_BURN,
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.STR, "package_msg", '"success" if all are in the mempool now, else what is wrong'),
            Result(
                _T.OBJ_DYN,
                "tx-results",
                "by wtxid",
                (
                    Result(
                        _T.OBJ,
                        "wtxid",
                        "what became of it",
                        (
                            Result(_T.STR_HEX, "txid", "the txid"),
                            Result(_T.STR_HEX, "other-wtxid", "what the mempool has in its place", optional=True),
                            Result(_T.NUM, "vsize", "virtual size (sigop-adjusted)", optional=True),
                            Result(
                                _T.OBJ,
                                "fees",
                                "if it is in the mempool",
                                (
                                    _BASE_FEE,
                                    Result(
                                        _T.STR_AMOUNT,
                                        "effective-feerate",
                                        "rate that counted, in BTC/kvB, unless it was there before",
                                        optional=True,
                                    ),
                                    Result(
                                        _T.ARR,
                                        "effective-includes",
                                        "whose fees and sizes make that rate",
                                        _INCLUDES,
                                        optional=True,
                                    ),
                                ),
                                optional=True,
                            ),
                            Result(_T.STR, "error", "why it is not in the mempool", optional=True),
                        ),
                    ),
                ),
            ),
            Result(
                _T.ARR,
                "replaced-transactions",
                "what left the mempool for them",
                (Result(_T.STR_HEX, "", "a txid"),),
                optional=True,
            ),
        ),
    ),
    examples=(
        ("'[\"raw-tx-without-unconfirmed-parents\"]'", '["raw-parent-tx-1", "raw-parent-tx-2", "raw-child-tx"]'),
    ),
)
def submitpackage(ctx: NodeContext, package: list[Any], maxfeerate: Any, maxburnamount: Any) -> dict[str, Any]:
    """Submit a child with its parents. Raises RpcError -8, -22 or -25."""
    _check_count(package)
    max_feerate = _parse_feerate(maxfeerate)
    max_burn = parse_amount(maxburnamount)
    txs = []
    for raw in package:
        tx = _decode_member(raw)
        _check_burn(tx, max_burn)
        txs.append(tx)
    if len(txs) > 1 and not is_child_with_parents_tree(txs):
        raise RpcError(
            _rpc_code(TransactionError.INVALID_PACKAGE),
            "package topology disallowed. not child-with-parents or parents depend on each other.",
        )
    limit = max_feerate if max_feerate.fee_sat else None
    told = ctx.mempool.acceptor.accept_package(txs, client_maxfeerate=limit)
    if told.error is not None and told.error.rejection is PackageRejection.PCKG_MEMPOOL_ERROR:
        raise RpcError(_rpc_code(TransactionError.MEMPOOL_ERROR), told.error.reject_reason)
    ctx.network.soon(ctx.network.relay.announce, [tx.txid for tx in txs])
    replaced = {gone.txid for result in told.results.values() for gone in result.replaced}
    return {
        "package_msg": "success" if told.error is None else str(told.error),
        "tx-results": {hash_to_hex(tx.wtxid): _member_answer(tx, told.results.get(tx.wtxid)) for tx in txs},
        "replaced-transactions": [hash_to_hex(txid) for txid in sorted(replaced)],
    }


def _member_answer(tx: Transaction, result: AcceptResult | None) -> dict[str, Any]:
    answer: dict[str, Any] = {"txid": hash_to_hex(tx.txid)}
    if result is None:
        answer["error"] = "package-not-validated"
    elif result.error is not None:
        answer["error"] = str(result.error)
    elif result.other_wtxid is not None:
        answer["other-wtxid"] = hash_to_hex(result.other_wtxid)
    else:
        answer |= {"vsize": result.vsize, "fees": _fees(result)}
    return answer


def _fees(result: AcceptResult) -> dict[str, Any]:
    assert result.base_fee_sat is not None
    fees: dict[str, Any] = {"base": amount_json(result.base_fee_sat)}
    # By what rate a transaction came in that was there before is not known any more.
    if result.kind is ResultKind.VALID:
        assert result.effective_feerate is not None
        fees["effective-feerate"] = amount_json(result.effective_feerate.sat_per_kvb)
        fees["effective-includes"] = _hexes(result.wtxids_fee_calculations or ())
    return fees


def _hexes(wtxids: Sequence[Wtxid]) -> list[str]:
    return [hash_to_hex(wtxid) for wtxid in wtxids]


def _check_count(raw_transactions: list[Any]) -> None:
    if not 1 <= len(raw_transactions) <= MAX_PACKAGE_COUNT:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Array must contain between 1 and {MAX_PACKAGE_COUNT} transactions.")


def _decode_member(raw: Any) -> Transaction:
    text = parse_str(raw)
    tx = decode_transaction(text)
    if tx is None:
        raise RpcError(
            RpcCode.DESERIALIZATION_ERROR, f"TX decode failed: {text} Make sure the tx has at least one input."
        )
    return tx


def _parse_feerate(value: Any) -> FeeRate:
    rate = parse_amount(value)
    if rate >= COIN:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Fee rates larger than or equal to 1BTC/kvB are not accepted")
    return FeeRate(rate)


def _check_burn(tx: Transaction, max_burn_sat: int) -> None:
    """Raise RpcError -25 if an output burns more than the sender allows."""
    for txout in tx.outputs:
        script = txout.script_pubkey
        if txout.value > max_burn_sat and (is_unspendable(script) or not has_valid_ops(script)):
            raise _rpc_error(BroadcastFailed(TransactionError.MAX_BURN_EXCEEDED))


def _rpc_code(error: TransactionError) -> RpcCode:
    return _CODES.get(error, RpcCode.VERIFY_ERROR)


def _rpc_error(failed: BroadcastFailed) -> RpcError:
    return RpcError(_rpc_code(failed.error), str(failed))
