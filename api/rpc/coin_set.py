"""The RPC method about the set of unspent outputs: gettxoutsetinfo, from the flushed set or from -coinstatsindex.

Owns: its answer and errors. Never: flushing (the node does, on request).
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.api.rpc.block_stats import find_by_hash_or_height
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.index_access import has_index, wait_for_index
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.primitives.coin_hash import BOGO_BYTES, coin_bytes
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.muhash import MuHash3072
from clarion.node.storage.coin_store import CoinSnapshot
from clarion.node.storage.rows import BlockRow
from clarion.plugins.bundled.coinstatsindex import NAME, STORE_NAME, CoinStats, stats_key

_T = ResultType
HASH_TYPES = ("hash_serialized_3", "muhash", "none")

_BLOCK_INFO = (
    Result(_T.STR_AMOUNT, "prevout_spent", "value of the outputs that the block spends"),
    Result(_T.STR_AMOUNT, "coinbase", "value of the coinbase's outputs"),
    Result(_T.STR_AMOUNT, "new_outputs_ex_coinbase", "value of the other new outputs"),
    Result(_T.STR_AMOUNT, "unspendable", "what can never be spent"),
    Result(
        _T.OBJ,
        "unspendables",
        "the same by cause",
        (
            Result(_T.STR_AMOUNT, "genesis_block", "the subsidy of the genesis block"),
            Result(_T.STR_AMOUNT, "bip30", "coinbases that another one overwrites"),
            Result(_T.STR_AMOUNT, "scripts", "outputs whose script can't be satisfied (OP_RETURN)"),
            Result(_T.STR_AMOUNT, "unclaimed_rewards", "what the miner did not claim"),
        ),
    ),
)


class SetStatistics:
    """Counts of the set of unspent outputs and, if asked for, its hash (32 bytes, internal order)."""

    def __init__(self, coins: CoinSnapshot, hash_type: str) -> None:
        self.outputs = 0
        self.transactions = 0
        self.bogosize = 0
        self.total_sat = 0
        self.hash: bytes | None = None
        walk = self._walk(coins)
        if hash_type == "muhash":
            muhash = MuHash3072()
            muhash.add(walk)
            self.hash = muhash.digest()
        elif hash_type == "hash_serialized_3":
            digest = sha256()
            for data in walk:
                digest.update(data)
            self.hash = sha256(digest.digest()).digest()
        else:
            for _ in walk:
                pass

    def _walk(self, coins: CoinSnapshot) -> Iterator[bytes]:
        """Count every coin and yield the bytes that are hashed of it."""
        txid = b""
        for outpoint, coin in coins.iterate():
            if outpoint[:32] != txid:
                txid = outpoint[:32]
                self.transactions += 1
            self.outputs += 1
            self.total_sat += coin.value
            self.bogosize += BOGO_BYTES + len(coin.script_pubkey)
            yield coin_bytes(outpoint, coin)


@rpc_method(
    "gettxoutsetinfo",
    category="blockchain",
    where=READER,
    heavy=True,
    description="Returns statistics of the set of unspent outputs.\n"
    "Without coinstatsindex it reads the whole set, which takes its time.",
    args=[
        Arg(
            "hash_type",
            ArgType.STR,
            "Which hash of the set: 'hash_serialized_3', 'muhash' or 'none'",
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
            Result(_T.STR_HEX, "muhash", "hash of the set, if asked for", optional=True),
            Result(_T.NUM, "transactions", "transactions with unspent outputs (without the index)", optional=True),
            Result(_T.NUM, "disk_size", "bytes that the set takes on disk (without the index)", optional=True),
            Result(_T.STR_AMOUNT, "total_amount", "sum of the values in BTC"),
            Result(_T.STR_AMOUNT, "total_unspendable_amount", "what left the set for good (index)", optional=True),
            Result(_T.OBJ, "block_info", "amounts of this block (with the index)", _BLOCK_INFO, optional=True),
        ),
    ),
    examples=(
        ("", ""),
        ('"none"', '"none"'),
        ('"none" 1000', '"none", 1000'),
        ('"muhash" null false', '"muhash", null, false'),
    ),
)
def gettxoutsetinfo(ctx: ReaderContext, hash_type: str, hash_or_height: Any, use_index: bool) -> dict[str, Any]:
    """Return the statistics at the tip or, by the index, at a block. Raises RpcError -8, -5 or -32603."""
    if hash_type not in HASH_TYPES:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"'{hash_type}' is not a valid hash_type")
    row = None if hash_or_height is None else _asked_row(ctx, hash_type, hash_or_height, use_index)
    if use_index and has_index(ctx, NAME):
        _wait(ctx, row)
        if hash_type != "hash_serialized_3":
            return _from_index(ctx, row or _tip(ctx), hash_type)
    return _from_coins(ctx, hash_type)


def _asked_row(ctx: ReaderContext, hash_type: str, hash_or_height: Any, use_index: bool) -> BlockRow:
    if not has_index(ctx, NAME):
        raise RpcError(RpcCode.INVALID_PARAMETER, "Querying specific block heights requires coinstatsindex")
    if hash_type == "hash_serialized_3":
        raise RpcError(RpcCode.INVALID_PARAMETER, "hash_serialized_3 hash type cannot be queried for a specific block")
    if not use_index:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Cannot set use_index to false when querying for a specific block")
    with ctx.reader.snapshot() as snapshot:
        return find_by_hash_or_height(snapshot, hash_or_height)


def _tip(ctx: ReaderContext) -> BlockRow:
    with ctx.reader.snapshot() as snapshot:
        tip = snapshot.tip()
    assert tip is not None, "there is always a genesis block"
    return tip


def _wait(ctx: ReaderContext, row: BlockRow | None) -> None:
    if wait_for_index(ctx, NAME, STORE_NAME):
        return
    with ctx.index(STORE_NAME).snapshot() as view:
        reached = view.tip()
    height = 0 if reached is None else reached.height
    if row is not None and row.height > height:
        raise RpcError(
            RpcCode.INTERNAL_ERROR,
            f"Unable to get data because coinstatsindex is still syncing. Current height: {height}",
        )


def _from_index(ctx: ReaderContext, row: BlockRow, hash_type: str) -> dict[str, Any]:
    with ctx.index(STORE_NAME).snapshot() as view:
        stored = view.get(stats_key(row.height, row.hash))
        before = view.get(stats_key(row.height - 1, row.prev_hash)) if row.height else CoinStats(bytes(32)).serialize()
    if stored is None or before is None:
        raise RpcError(RpcCode.INTERNAL_ERROR, "Unable to read UTXO set")
    stats, previous = CoinStats.parse(stored), CoinStats.parse(before)
    answer: dict[str, Any] = {
        "height": row.height,
        "bestblock": hash_to_hex(row.hash),
        "txouts": stats.outputs,
        "bogosize": stats.bogosize,
    }
    if hash_type == "muhash":
        answer["muhash"] = hash_to_hex(stats.muhash)
    answer["total_amount"] = amount_json(stats.total)
    answer["total_unspendable_amount"] = amount_json(stats.unspendable)
    answer["block_info"] = _block_info(stats, previous)
    return answer


def _block_info(stats: CoinStats, previous: CoinStats) -> dict[str, Any]:
    return {
        "prevout_spent": amount_json(stats.prevouts_spent - previous.prevouts_spent),
        "coinbase": amount_json(stats.coinbase - previous.coinbase),
        "new_outputs_ex_coinbase": amount_json(stats.new_outputs - previous.new_outputs),
        "unspendable": amount_json(stats.unspendable - previous.unspendable),
        "unspendables": {
            "genesis_block": amount_json(stats.unspendable_genesis - previous.unspendable_genesis),
            "bip30": amount_json(stats.unspendable_bip30 - previous.unspendable_bip30),
            "scripts": amount_json(stats.unspendable_scripts - previous.unspendable_scripts),
            "unclaimed_rewards": amount_json(stats.unclaimed_rewards - previous.unclaimed_rewards),
        },
    }


def _from_coins(ctx: ReaderContext, hash_type: str) -> dict[str, Any]:
    ctx.node.call_blocking("_flush", [])
    with ctx.reader.coins() as coins:
        tip = coins.tip()
        assert tip is not None, "the set was flushed"
        statistics = SetStatistics(coins, hash_type)
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
        answer[hash_type] = hash_to_hex(statistics.hash)
    answer["total_amount"] = amount_json(statistics.total_sat)
    answer["transactions"] = statistics.transactions
    answer["disk_size"] = _disk_size(ctx)
    return answer


def _disk_size(ctx: ReaderContext) -> int:
    path = ctx.settings.chain_dir / "chainstate" / "coins.sqlite"
    return path.stat().st_size if path.exists() else 0
