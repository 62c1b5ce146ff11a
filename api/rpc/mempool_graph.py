"""RPC methods about the order of the mempool: getmempoolcluster, getmempoolfeeratediagram.

Owns: their answers. Never: the graph.
"""

from typing import Any

from clarion.api.render.mempool import cluster_json
from clarion.api.render.numbers import amount_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.mempool_entries import find_entry
from clarion.api.rpc.parse import parse_hash
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.mempool.entry_facts import cluster_chunks

_T = ResultType


@rpc_method(
    "getmempoolcluster",
    category="blockchain",
    where=NODE,
    description="Returns the cluster of a transaction: all that hang together with it in the mempool.",
    args=[Arg("txid", ArgType.STR_HEX, "A transaction of the cluster", required=True)],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.NUM, "clusterweight", "weight of all, adjusted by signature operations"),
            Result(_T.NUM, "txcount", "number of transactions"),
            Result(
                _T.ARR,
                "chunks",
                "what would be mined together, in mining order",
                (
                    Result(
                        _T.OBJ,
                        "",
                        "",
                        (
                            Result(_T.STR_AMOUNT, "chunkfee", "modified fees of the chunk in BTC"),
                            Result(_T.NUM, "chunkweight", "its weight, adjusted by signature operations"),
                            Result(_T.ARR, "txs", "in mining order", (Result(_T.STR_HEX, "", "a txid"),)),
                        ),
                    ),
                ),
            ),
        ),
    ),
    examples=(('"txid"', '"txid"'),),
)
def getmempoolcluster(ctx: NodeContext, txid: str) -> dict[str, Any]:
    """Return the cluster by chunks. Raises RpcError -5."""
    wanted, pool = parse_hash(txid, "txid"), ctx.mempool.pool
    with pool.lock:
        chunks = cluster_chunks(pool, find_entry(pool, wanted))
    return cluster_json(chunks)


@rpc_method(
    "getmempoolfeeratediagram",
    category="hidden",
    where=NODE,
    description="Returns how fees and weight add up along the mempool in mining order.",
    results=Result(
        _T.ARR,
        "",
        "the sums behind each chunk, zero first",
        (
            Result(
                _T.OBJ,
                "",
                "",
                (
                    Result(_T.NUM, "weight", "sum of the weights, adjusted by signature operations"),
                    Result(_T.STR_AMOUNT, "fee", "sum of the modified fees in BTC"),
                ),
            ),
        ),
    ),
)
def getmempoolfeeratediagram(ctx: NodeContext) -> list[dict[str, Any]]:
    """Return the diagram's points."""
    pool = ctx.mempool.pool
    with pool.lock:
        points = pool.feerate_diagram()
    return [{"weight": point.size, "fee": amount_json(point.fee)} for point in points]
