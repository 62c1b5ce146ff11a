"""The RPC method about transactions whose parents are unknown: getorphantxs.

Owns: its answer and errors. Never: the orphans.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_int
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.mempool.orphanage import OrphanInfo
from clarion.node.primitives.ids import hash_to_hex

_T = ResultType
_FIELDS = (
    Result(_T.STR_HEX, "txid", "the txid"),
    Result(_T.STR_HEX, "wtxid", "hash with its witness"),
    Result(_T.NUM, "bytes", "size in bytes"),
    Result(_T.NUM, "vsize", "virtual size (BIP141)"),
    Result(_T.NUM, "weight", "weight (BIP141)"),
    Result(_T.ARR, "from", "who announced it", (Result(_T.NUM, "", "a peer's id"),)),
)
_MAX_VERBOSITY = 2


@rpc_method(
    "getorphantxs",
    category="hidden",
    where=NODE,
    description="Returns transactions that wait for a parent which nobody has sent yet.",
    args=[
        Arg(
            "verbosity",
            ArgType.NUM,
            "0 for txids (those of different witnesses may repeat), 1 for objects, 2 for objects with the bytes",
            default=0,
            unchecked=True,
        )
    ],
    results=[
        Result(_T.ARR, "", "", (Result(_T.STR_HEX, "", "a txid"),), condition="for verbosity = 0"),
        Result(_T.ARR, "", "", (Result(_T.OBJ, "", "", _FIELDS),), condition="for verbosity = 1"),
        Result(
            _T.ARR,
            "",
            "",
            (Result(_T.OBJ, "", "", (*_FIELDS, Result(_T.STR_HEX, "hex", "the transaction's bytes"))),),
            condition="for verbosity = 2",
        ),
    ],
    examples=(("2", "2"),),
)
def getorphantxs(ctx: NodeContext, verbosity: Any) -> list[Any]:
    """Return the orphans by wtxid. Raises RpcError -8 or -3 for a verbosity that does not exist."""
    orphans = ctx.network.call(ctx.network.relay.orphans)
    if isinstance(verbosity, bool):
        raise RpcError(RpcCode.TYPE_ERROR, "Verbosity was boolean but only integer allowed")
    level = parse_int(verbosity)
    if not 0 <= level <= _MAX_VERBOSITY:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Invalid verbosity value {level}")
    if level == 0:
        return [hash_to_hex(orphan.tx.txid) for orphan in orphans]
    return [_orphan_json(orphan, with_bytes=level == _MAX_VERBOSITY) for orphan in orphans]


def _orphan_json(orphan: OrphanInfo, *, with_bytes: bool) -> dict[str, Any]:
    tx = orphan.tx
    out: dict[str, Any] = {
        "txid": hash_to_hex(tx.txid),
        "wtxid": hash_to_hex(tx.wtxid),
        "bytes": tx.size,
        "vsize": tx.vsize,
        "weight": tx.weight,
        "from": list(orphan.announcers),
    }
    if with_bytes:
        out["hex"] = tx.raw.hex()
    return out
