"""RPC methods about what fees count with: prioritisetransaction, getprioritisedtransactions.

Owns: their answers and errors. Never: the pool.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import INT64, parse_hash, parse_int
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.mempool.policy.dust import dust_outputs
from clarion.node.primitives.ids import Txid, hash_to_hex

_T = ResultType


@rpc_method(
    "prioritisetransaction",
    category="mining",
    where=NODE,
    description="Lets a transaction count with a higher or lower fee when blocks are made and the mempool is limited.",
    args=[
        Arg("txid", ArgType.STR_HEX, "The transaction, in the mempool or not", required=True),
        Arg("dummy", ArgType.NUM, "For old clients: zero or null"),
        Arg(
            "fee_delta",
            ArgType.NUM,
            "Satoshis to add to the fee that it counts with; negative ones lower it. Nobody pays them",
            required=True,
        ),
    ],
    results=Result(_T.BOOL, "", "true"),
    examples=(('"txid" 0.0 10000', '"txid", 0.0, 10000'),),
)
def prioritisetransaction(ctx: NodeContext, txid: str, dummy: float | None, fee_delta: Any) -> bool:
    """Add to the fee that a transaction counts with. Raises RpcError -8."""
    wanted = Txid(parse_hash(txid, "txid"))
    delta_sat = parse_int(fee_delta, INT64)
    if dummy:
        raise RpcError(
            RpcCode.INVALID_PARAMETER,
            "Priority is no longer supported, dummy argument to prioritisetransaction must be 0.",
        )
    pool = ctx.mempool.pool
    with pool.lock:
        entry = pool.get(wanted)
    # Dust may only enter with a fee of zero, and it must stay at that.
    options = pool.options
    if entry is not None and options.require_standard and dust_outputs(entry.tx, options.dust_relay_feerate):
        raise RpcError(RpcCode.INVALID_PARAMETER, "Priority is not supported for transactions with dust outputs.")
    ctx.mempool.prioritise(wanted, delta_sat)
    return True


@rpc_method(
    "getprioritisedtransactions",
    category="mining",
    where=NODE,
    description="Returns every transaction whose fee counts differently because of prioritisetransaction.",
    results=Result(
        _T.OBJ_DYN,
        "",
        "by txid",
        (
            Result(
                _T.OBJ,
                "transactionid",
                "",
                (
                    Result(_T.NUM, "fee_delta", "what was added to the fee in satoshis"),
                    Result(_T.BOOL, "in_mempool", "whether it is in the mempool"),
                    Result(_T.NUM, "modified_fee", "the fee that it counts with in satoshis", optional=True),
                ),
            ),
        ),
    ),
)
def getprioritisedtransactions(ctx: NodeContext) -> dict[str, Any]:
    """Return the deltas by txid."""
    pool = ctx.mempool.pool
    with pool.lock:
        deltas = [(txid, delta, pool.get(txid)) for txid, delta in sorted(pool.deltas.items())]
        modified = {txid: entry.fee_sat for txid, _, entry in deltas if entry is not None}
    answer: dict[str, Any] = {}
    for txid, delta, _ in deltas:
        told: dict[str, Any] = {"fee_delta": delta, "in_mempool": txid in modified}
        if txid in modified:
            told["modified_fee"] = modified[txid]
        answer[hash_to_hex(txid)] = told
    return answer
