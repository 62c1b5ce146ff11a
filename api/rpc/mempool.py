"""RPC methods about the mempool as a whole: getmempoolinfo, getrawmempool.

Owns: their answers. Never: the pool.
"""

from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.mempool_entries import BY_TXID, TXIDS, entries_json
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.primitives.ids import hash_to_hex

_T = ResultType


@rpc_method(
    "getmempoolinfo",
    category="blockchain",
    where=NODE,
    description="Returns the state of the mempool.",
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.BOOL, "loaded", "whether loading the stored mempool has ended"),
            Result(_T.NUM, "size", "number of transactions"),
            Result(_T.NUM, "bytes", "sum of their virtual sizes (BIP141)"),
            Result(_T.NUM, "usage", "memory that the mempool takes, as the reference counts it"),
            Result(_T.STR_AMOUNT, "total_fee", "sum of the fees in BTC, without what prioritisetransaction added"),
            Result(_T.NUM, "maxmempool", "most memory that the mempool may take"),
            Result(_T.STR_AMOUNT, "mempoolminfee", "lowest fee rate that is accepted now in BTC/kvB"),
            Result(_T.STR_AMOUNT, "minrelaytxfee", "lowest fee rate that is relayed in BTC/kvB"),
            Result(_T.STR_AMOUNT, "incrementalrelayfee", "lowest rise for a replacement in BTC/kvB"),
            Result(_T.NUM, "unbroadcastcount", "transactions that no peer has asked for yet"),
            Result(_T.BOOL, "permitbaremultisig", "whether outputs with bare multisig are accepted"),
            Result(_T.NUM, "maxdatacarriersize", "most bytes of OP_RETURN outputs"),
            Result(_T.NUM, "limitclustercount", "most transactions in a cluster"),
            Result(_T.NUM, "limitclustersize", "largest cluster in virtual bytes"),
            Result(_T.BOOL, "optimal", "whether the order of the mempool is known to be optimal"),
            Result(_T.BOOL, "fullrbf", "true (only with -deprecatedrpc=fullrbf)", optional=True),
        ),
    ),
)
def getmempoolinfo(ctx: NodeContext) -> dict[str, Any]:
    """Return size, limits and fee rates."""
    pool = ctx.mempool.pool
    options = pool.options
    with pool.lock:
        size, vsize, usage, fees_sat = len(pool.entries), pool.total_vsize, pool.usage_bytes, pool.total_fee_sat
        min_fee, unbroadcast, loaded = pool.min_fee(), len(pool.unbroadcast), pool.load_tried
        optimal = pool.graph.do_work(0)
    answer = {
        "loaded": loaded,
        "size": size,
        "bytes": vsize,
        "usage": usage,
        "total_fee": amount_json(fees_sat),
        "maxmempool": options.max_size_bytes,
        "mempoolminfee": amount_json(max(min_fee, options.min_relay_feerate).sat_per_kvb),
        "minrelaytxfee": amount_json(options.min_relay_feerate.sat_per_kvb),
        "incrementalrelayfee": amount_json(options.incremental_relay_feerate.sat_per_kvb),
        "unbroadcastcount": unbroadcast,
        "permitbaremultisig": options.permit_bare_multisig,
        "maxdatacarriersize": options.max_datacarrier_bytes or 0,
        "limitclustercount": options.limits.cluster_count,
        "limitclustersize": options.limits.cluster_size_vbytes,
        "optimal": optimal,
    }
    if "fullrbf" in ctx.config.deprecated_rpc:
        answer["fullrbf"] = True
    return answer


@rpc_method(
    "getrawmempool",
    category="blockchain",
    where=NODE,
    description="Returns the transactions of the mempool, in the order in which they would be mined.",
    args=[
        Arg("verbose", ArgType.BOOL, "true for an object by txid, false for a list of txids", default=False),
        Arg("mempool_sequence", ArgType.BOOL, "Whether to add the mempool's sequence (not if verbose)", default=False),
    ],
    results=[
        TXIDS,
        BY_TXID,
        Result(
            _T.OBJ,
            "",
            "",
            (
                Result(_T.ARR, "txids", "the txids", (Result(_T.STR_HEX, "", "a txid"),)),
                Result(_T.NUM, "mempool_sequence", "the sequence that the next change will have"),
            ),
            condition="for verbose = false and mempool_sequence = true",
        ),
    ],
    examples=(("true", "true"),),
)
def getrawmempool(ctx: NodeContext, verbose: bool, mempool_sequence: bool) -> Any:
    """Return what is in the mempool. Raises RpcError -8 for a combination that has no answer."""
    pool = ctx.mempool.pool
    if verbose:
        if mempool_sequence:
            raise RpcError(RpcCode.INVALID_PARAMETER, "Verbose results cannot contain mempool sequence values.")
        return entries_json(ctx, pool.sorted_entries)
    with pool.lock:
        entries, sequence = pool.sorted_entries(), pool.sequence
    txids = [hash_to_hex(entry.txid) for entry in entries]
    return {"txids": txids, "mempool_sequence": sequence} if mempool_sequence else txids
