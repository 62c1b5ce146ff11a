"""RPC methods about unspent outputs: gettxout from the node's cache, gettxoutsetinfo from the flushed set.

Owns: their answers and the set's hash. Never: flushing (the node does, on request).
"""

import hashlib
import struct
from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.api.render.script import script_pubkey_json
from clarion.api.rpc.block_results import SCRIPT_PUBKEY_FIELDS
from clarion.api.rpc.context import NodeContext, ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import UINT32, parse_hash, parse_int
from clarion.api.rpc.registry import NODE, READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.unspent import look_up
from clarion.node.errors import RpcError
from clarion.node.mempool.lock_points import MEMPOOL_HEIGHT
from clarion.node.primitives.codec import var_bytes
from clarion.node.primitives.ids import hash_to_hex, make_outpoint
from clarion.node.storage.coin_store import CoinSnapshot

_T = ResultType
HASH_TYPES = ("hash_serialized_3", "none")
BOGO_BYTES = 50
"""What `bogosize` counts for an output beside its script."""

_CODE_AND_VALUE = struct.Struct("<Iq")


@rpc_method(
    "gettxout",
    category="blockchain",
    where=NODE,
    description="Returns an unspent output.",
    args=[
        Arg("txid", ArgType.STR, "The transaction", required=True),
        Arg("n", ArgType.NUM, "Number of the output", required=True),
        Arg("include_mempool", ArgType.BOOL, "Whether what the mempool makes and spends counts", default=True),
    ],
    results=[
        Result(_T.NONE, condition="if there is no such unspent output"),
        Result(
            _T.OBJ,
            "",
            "",
            (
                Result(_T.STR_HEX, "bestblock", "hash of the tip"),
                Result(_T.NUM, "confirmations", "number of confirmations"),
                Result(_T.STR_AMOUNT, "value", "value in BTC"),
                Result(_T.OBJ, "scriptPubKey", "its script", SCRIPT_PUBKEY_FIELDS),
                Result(_T.BOOL, "coinbase", "whether a coinbase made it"),
            ),
            condition="otherwise",
        ),
    ],
    examples=(('"txid" 1', '"txid", 1'),),
)
def gettxout(ctx: NodeContext, txid: str, n: Any, include_mempool: bool) -> dict[str, Any] | None:
    """Return an unspent output as the tip and the mempool see it, None if it is spent or never was."""
    outpoint = make_outpoint(parse_hash(txid, "txid"), parse_int(n, UINT32))
    tip, (coin,) = look_up(ctx, [outpoint], with_mempool=include_mempool)
    if coin is None:
        return None
    return {
        "bestblock": hash_to_hex(tip.hash),
        "confirmations": 0 if coin.height == MEMPOOL_HEIGHT else tip.height - coin.height + 1,
        "value": amount_json(coin.value),
        "scriptPubKey": script_pubkey_json(coin.script_pubkey, ctx.params),
        "coinbase": coin.is_coinbase,
    }


class SetStatistics:
    """Counts of the set of unspent outputs and, if asked for, its `hash_serialized_3`."""

    def __init__(self, coins: CoinSnapshot, *, hashed: bool) -> None:
        self.outputs = 0
        self.transactions = 0
        self.bogosize = 0
        self.total_sat = 0
        digest = hashlib.sha256() if hashed else None
        txid = b""
        for outpoint, coin in coins.iterate():
            if outpoint[:32] != txid:
                txid = outpoint[:32]
                self.transactions += 1
            self.outputs += 1
            self.total_sat += coin.value
            self.bogosize += BOGO_BYTES + len(coin.script_pubkey)
            if digest is not None:
                digest.update(outpoint + _CODE_AND_VALUE.pack(coin.code, coin.value) + var_bytes(coin.script_pubkey))
        self.hash = hashlib.sha256(digest.digest()).digest() if digest is not None else None


@rpc_method(
    "gettxoutsetinfo",
    category="blockchain",
    where=READER,
    heavy=True,
    description="Returns statistics of the set of unspent outputs. Reads the whole set, which takes its time.",
    args=[
        Arg(
            "hash_type",
            ArgType.STR,
            "Which hash of the set: 'hash_serialized_3' or 'none'",
            default="hash_serialized_3",
        ),
        Arg(
            "hash_or_height",
            ArgType.NUM,
            "The block (only with coinstatsindex)",
            hint="the current best block",
            unchecked=True,
            type_label="string or numeric",
        ),
        Arg("use_index", ArgType.BOOL, "Whether coinstatsindex is used, where there is one", default=True),
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.NUM, "height", "height of the block that the statistics belong to"),
            Result(_T.STR_HEX, "bestblock", "its hash"),
            Result(_T.NUM, "txouts", "number of unspent outputs"),
            Result(_T.NUM, "bogosize", "size of the set by a measure that no database changes"),
            Result(_T.STR_HEX, "hash_serialized_3", "hash of the set, if asked for", optional=True),
            Result(_T.STR_AMOUNT, "total_amount", "sum of the values in BTC"),
            Result(_T.NUM, "transactions", "transactions with unspent outputs", optional=True),
            Result(_T.NUM, "disk_size", "bytes that the set takes on disk", optional=True),
        ),
    ),
    examples=(("", ""), ('"none"', '"none"')),
)
def gettxoutsetinfo(ctx: ReaderContext, hash_type: str, hash_or_height: Any, use_index: bool) -> dict[str, Any]:
    """Return the statistics at the tip, or above it if blocks connect meanwhile."""
    if hash_type not in HASH_TYPES:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"'{hash_type}' is not a valid hash_type")
    if hash_or_height is not None:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Querying specific block heights requires coinstatsindex")
    ctx.node.call_blocking("_flush", [])
    with ctx.reader.coins() as coins:
        tip = coins.tip()
        assert tip is not None, "the set was flushed"
        statistics = SetStatistics(coins, hashed=hash_type == "hash_serialized_3")
    with ctx.reader.snapshot() as snapshot:
        row = snapshot.block(tip)
    assert row is not None, "the coins' tip is in the block index"
    answer: dict[str, Any] = {
        "height": row.height,
        "bestblock": hash_to_hex(tip),
        "txouts": statistics.outputs,
        "bogosize": statistics.bogosize,
    }
    if statistics.hash is not None:
        answer["hash_serialized_3"] = hash_to_hex(statistics.hash)
    answer["total_amount"] = amount_json(statistics.total_sat)
    answer["transactions"] = statistics.transactions
    answer["disk_size"] = _disk_size(ctx)
    return answer


def _disk_size(ctx: ReaderContext) -> int:
    path = ctx.settings.chain_dir / "chainstate" / "coins.sqlite"
    return path.stat().st_size if path.exists() else 0
