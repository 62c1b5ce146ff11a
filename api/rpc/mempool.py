"""RPC methods about the mempool.

Owns: their answers; without a mempool they tell of an empty one. Never: the pool.
"""

from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.network import INCREMENTAL_RELAY_FEE_SAT_PER_KVB, MIN_RELAY_FEE_SAT_PER_KVB
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError

MAX_MEMPOOL_BYTES = 300_000_000
MAX_DATACARRIER_BYTES = 100_000
CLUSTER_COUNT_LIMIT = 64
CLUSTER_SIZE_LIMIT_VBYTES = 101_000
FIRST_MEMPOOL_SEQUENCE = 1


@rpc_method(
    "getmempoolinfo",
    category="blockchain",
    where=NODE,
    description="Returns the state of the mempool.",
    results=Result(
        ResultType.OBJ,
        "",
        "",
        (
            Result(ResultType.BOOL, "loaded", "whether the stored mempool was loaded, or that was given up"),
            Result(ResultType.NUM, "size", "number of transactions"),
            Result(ResultType.NUM, "bytes", "sum of their virtual sizes (BIP141)"),
            Result(ResultType.NUM, "usage", "memory that the mempool takes"),
            Result(ResultType.STR_AMOUNT, "total_fee", "sum of the fees in BTC"),
            Result(ResultType.NUM, "maxmempool", "most memory that the mempool may take"),
            Result(ResultType.STR_AMOUNT, "mempoolminfee", "lowest fee rate that is accepted now in BTC/kvB"),
            Result(ResultType.STR_AMOUNT, "minrelaytxfee", "lowest fee rate that is relayed in BTC/kvB"),
            Result(ResultType.STR_AMOUNT, "incrementalrelayfee", "lowest rise for a replacement in BTC/kvB"),
            Result(ResultType.NUM, "unbroadcastcount", "transactions that no peer has asked for yet"),
            Result(ResultType.BOOL, "permitbaremultisig", "whether outputs with bare multisig are accepted"),
            Result(ResultType.NUM, "maxdatacarriersize", "most bytes of OP_RETURN outputs"),
            Result(ResultType.NUM, "limitclustercount", "most transactions in a cluster"),
            Result(ResultType.NUM, "limitclustersize", "largest cluster in virtual bytes"),
            Result(ResultType.BOOL, "optimal", "whether the order of the mempool is known to be optimal"),
        ),
    ),
)
def getmempoolinfo(ctx: NodeContext) -> dict[str, Any]:
    """Return size, limits and fee rates."""
    return {
        "loaded": True,
        "size": 0,
        "bytes": 0,
        "usage": 0,
        "total_fee": amount_json(0),
        "maxmempool": MAX_MEMPOOL_BYTES,
        "mempoolminfee": amount_json(MIN_RELAY_FEE_SAT_PER_KVB),
        "minrelaytxfee": amount_json(MIN_RELAY_FEE_SAT_PER_KVB),
        "incrementalrelayfee": amount_json(INCREMENTAL_RELAY_FEE_SAT_PER_KVB),
        "unbroadcastcount": 0,
        "permitbaremultisig": True,
        "maxdatacarriersize": MAX_DATACARRIER_BYTES,
        "limitclustercount": CLUSTER_COUNT_LIMIT,
        "limitclustersize": CLUSTER_SIZE_LIMIT_VBYTES,
        "optimal": True,
    }


@rpc_method(
    "getrawmempool",
    category="blockchain",
    where=NODE,
    description="Returns the transactions of the mempool.",
    args=[
        Arg("verbose", ArgType.BOOL, "true for an object by txid, false for a list of txids", default=False),
        Arg("mempool_sequence", ArgType.BOOL, "Whether to add the mempool's sequence (not if verbose)", default=False),
    ],
    results=[
        Result(ResultType.ARR, "", "", (Result(ResultType.STR_HEX, "", "a txid"),), condition="for verbose = false"),
        Result(
            ResultType.OBJ_DYN,
            "",
            "",
            (Result(ResultType.OBJ, "transactionid", "what is known of the transaction"),),
            condition="for verbose = true",
        ),
        Result(
            ResultType.OBJ,
            "",
            "",
            (
                Result(ResultType.ARR, "txids", "the txids", (Result(ResultType.STR_HEX, "", "a txid"),)),
                Result(ResultType.NUM, "mempool_sequence", "the mempool's sequence"),
            ),
            condition="for verbose = false and mempool_sequence = true",
        ),
    ],
    examples=(("true", "true"),),
)
def getrawmempool(ctx: NodeContext, verbose: bool, mempool_sequence: bool) -> Any:
    """Return what is in the mempool. Raises RpcError -8 for a combination that has no answer."""
    if verbose and mempool_sequence:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Verbose results cannot contain mempool sequence values.")
    if verbose:
        return {}
    return {"txids": [], "mempool_sequence": FIRST_MEMPOOL_SEQUENCE} if mempool_sequence else []
