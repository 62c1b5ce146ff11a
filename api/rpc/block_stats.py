"""The RPC method getblockstats.

Owns: its arguments, its answer and errors. Never: counting (see `node.chain.block_statistics`).
"""

from collections.abc import Callable
from typing import Any, TypeVar

from clarion.api.rpc.blocks import check_raw, find_row, missing_reason, read_raw
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_hash, parse_int, parse_str
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.chain.block_statistics import STORE_NAME, block_stats, decode_stats
from clarion.node.consensus.subsidy import block_subsidy
from clarion.node.errors import BlockFileError, RpcError, StorageError
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.block_status import HAVE_UNDO
from clarion.node.storage.chain_reader import ChainSnapshot
from clarion.node.storage.rows import BlockRow

_T = ResultType
_Value = TypeVar("_Value")

_STATISTICS_BYTES = 4096
"""What the statistics of a block take, roughly."""

_PERCENTILES = tuple(
    Result(_T.NUM, f"{number}th_percentile_feerate", f"fee rate at the {number}th percentile")
    for number in (10, 25, 50, 75, 90)
)

_NUMBERS = {
    "avgfee": "average fee",
    "avgfeerate": "average fee rate in satoshis per virtual byte",
    "avgtxsize": "average size of a transaction",
    "height": "the block's height",
    "ins": "inputs, without the coinbase's",
    "maxfee": "highest fee",
    "maxfeerate": "highest fee rate in satoshis per virtual byte",
    "maxtxsize": "largest transaction",
    "medianfee": "median fee, rounded down",
    "mediantime": "median time of the block and its ten ancestors",
    "mediantxsize": "median size of a transaction, rounded down",
    "minfee": "lowest fee",
    "minfeerate": "lowest fee rate in satoshis per virtual byte",
    "mintxsize": "smallest transaction",
    "outs": "outputs",
    "subsidy": "what the coinbase may take beside the fees",
    "swtotal_size": "bytes of the transactions with witness",
    "swtotal_weight": "their weight",
    "swtxs": "how many transactions have a witness",
    "time": "the block's time",
    "total_out": "sum of all outputs, without the coinbase's",
    "total_size": "bytes of all transactions, without the coinbase",
    "total_weight": "their weight",
    "totalfee": "sum of the fees",
    "txs": "transactions, the coinbase among them",
    "utxo_increase": "by how many the unspent outputs grow, unspendable ones counted",
    "utxo_size_inc": "by how many bytes, unspendable ones counted",
    "utxo_increase_actual": "by how many the set of unspent outputs grows",
    "utxo_size_inc_actual": "by how many bytes the set of unspent outputs grows",
}

_FIELDS = (
    Result(_T.STR_HEX, "blockhash", "the block's hash", optional=True),
    Result(
        _T.ARR,
        "feerate_percentiles",
        "fee rates in satoshis per virtual byte at five percentiles of the weight",
        _PERCENTILES,
        optional=True,
    ),
    *(Result(_T.NUM, name, text, optional=True) for name, text in _NUMBERS.items()),
)

_EXAMPLE = '"00000000c937983704a73af28acdec37b049d214adbda81d7e2a3dd146f6ed09"'


@rpc_method(
    "getblockstats",
    category="blockchain",
    where=READER,
    heavy=True,
    description="Returns statistics of a block. Amounts are in satoshis. Blocks that were pruned have none.",
    args=[
        Arg(
            "hash_or_height",
            ArgType.NUM,
            "The block's hash or its height",
            required=True,
            unchecked=True,
            type_label="string or numeric",
        ),
        Arg(
            "stats",
            ArgType.ARR,
            "Which values to return",
            hint="all values",
            inner=(
                Arg("height", ArgType.STR, "Name of a value"),
                Arg("time", ArgType.STR, "Name of a value"),
            ),
            oneline="stats",
        ),
    ],
    results=Result(_T.OBJ, "", "", _FIELDS),
    examples=(
        (f"'{_EXAMPLE}' '[\"minfeerate\",\"avgfeerate\"]'", f'{_EXAMPLE}, ["minfeerate","avgfeerate"]'),
        ('1000 \'["minfeerate","avgfeerate"]\'', '1000, ["minfeerate","avgfeerate"]'),
    ),
)
def getblockstats(ctx: ReaderContext, hash_or_height: Any, stats: list[Any] | None) -> dict[str, Any]:
    """Return all values, or the wanted ones. Raises RpcError -5 or -8 for the block, -8 for an unknown name."""
    with ctx.reader.snapshot() as snapshot:
        row = find_by_hash_or_height(snapshot, hash_or_height)
        wanted = sorted({parse_str(name) for name in stats or ()})
        median_time = snapshot.median_time_past(row)
    everything = _statistics(ctx, row) | {
        "blockhash": hash_to_hex(row.hash),
        "height": row.height,
        "mediantime": median_time,
        "subsidy": block_subsidy(row.height, ctx.params),
        "time": row.time,
    }
    for name in wanted:
        if name not in everything:
            raise RpcError(RpcCode.INVALID_PARAMETER, f"Invalid selected statistic '{name}'")
    return {name: everything[name] for name in wanted or _ORDER}


_LAST = ("utxo_increase", "utxo_size_inc", "utxo_increase_actual", "utxo_size_inc_actual")
_ORDER = (*sorted({field.key for field in _FIELDS} - set(_LAST)), *_LAST)
"""The reference's order: by name, but for the last four."""


def find_by_hash_or_height(snapshot: ChainSnapshot, value: Any) -> BlockRow:
    """Return a block by its hash, or by its height on the active chain. Raises RpcError -5, -8."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return find_row(snapshot, parse_hash(value, "hash_or_height"))
    height = parse_int(value)
    if height < 0:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Target block height {height} is negative")
    row = snapshot.block_at(height)
    if row is None:
        tip = snapshot.height()
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Target block height {height} after current tip {tip}")
    return row


def _statistics(ctx: ReaderContext, row: BlockRow) -> dict[str, Any]:
    """Return what the block decides, stored or counted once. Pruned blocks have none, as in the reference."""
    check_raw(ctx, row)
    _undo(row, lambda: ctx.reader.check_undo_file(row))
    return ctx.facts.get(
        ("stats", row.hash), lambda: _stored(ctx, row) or _count(ctx, row), lambda _: _STATISTICS_BYTES
    )


def _stored(ctx: ReaderContext, row: BlockRow) -> dict[str, Any] | None:
    """Return what the node has stored of a block, None for one that it has not come to: then it is counted here."""
    try:
        with ctx.index(STORE_NAME).snapshot() as view:
            stored = view.get(row.hash)
    except StorageError:
        # The database of an older node, which stored none.
        return None
    return None if stored is None else decode_stats(stored)


def _count(ctx: ReaderContext, row: BlockRow) -> dict[str, Any]:
    block = Block.parse(read_raw(ctx, row))
    return block_stats(block, _undo(row, lambda: ctx.reader.read_undo(row)), row.height)


def _undo(row: BlockRow, read: Callable[[], _Value]) -> _Value:
    if row.height > 0 and not row.status & HAVE_UNDO:
        raise RpcError(RpcCode.MISC_ERROR, f"Undo data not available ({missing_reason(row)})")
    try:
        return read()
    except BlockFileError:
        raise RpcError(RpcCode.MISC_ERROR, "Can't read undo data from disk") from None
