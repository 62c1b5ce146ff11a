"""The RPC method about one unspent output: gettxout, from the node's cache.

Owns: its answer. Never: the whole set (`coin_set`).
"""

from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.api.render.script import script_pubkey_json
from clarion.api.rpc.block_results import SCRIPT_PUBKEY_FIELDS
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.parse import UINT32, parse_hash, parse_int
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.unspent import look_up
from clarion.node.mempool.lock_points import MEMPOOL_HEIGHT
from clarion.node.primitives.address import AddressFormat
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, hash_to_hex, make_outpoint

_T = ResultType


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
    return None if coin is None else unspent_json(coin, tip.hash, tip.height, ctx.params)


def unspent_json(coin: Coin, tip: BlockHash, tip_height: int, network: AddressFormat) -> dict[str, Any]:
    """Return an unspent output as `gettxout` shows it; the tip is the one that it is unspent at."""
    return {
        "bestblock": hash_to_hex(tip),
        "confirmations": 0 if coin.height == MEMPOOL_HEIGHT else tip_height - coin.height + 1,
        "value": amount_json(coin.value),
        "scriptPubKey": script_pubkey_json(coin.script_pubkey, network),
        "coinbase": coin.is_coinbase,
    }
