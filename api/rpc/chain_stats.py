"""The RPC method getchaintxstats.

Owns: its window and answer. Never: anything that only the live node knows.
"""

from typing import Any

from clarion.api.render.numbers import number_json
from clarion.api.rpc.blockchain import tip_row
from clarion.api.rpc.blocks import find_row
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_hash, parse_int
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.chain_reader import ChainSnapshot
from clarion.node.storage.rows import BlockRow

MONTH_S = 30 * 24 * 60 * 60
_T = ResultType


@rpc_method(
    "getchaintxstats",
    category="blockchain",
    where=READER,
    description="Returns number and rate of the chain's transactions.",
    args=[
        Arg("nblocks", ArgType.NUM, "How many blocks the window has", hint="one month"),
        Arg("blockhash", ArgType.STR_HEX, "The last block of the window", hint="chain tip"),
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.NUM_TIME, "time", "time of the window's last block in UNIX epoch time"),
            Result(_T.NUM, "txcount", "transactions of the chain up to it, where that is known", optional=True),
            Result(_T.STR_HEX, "window_final_block_hash", "hash of the window's last block"),
            Result(_T.NUM, "window_final_block_height", "its height"),
            Result(_T.NUM, "window_block_count", "blocks of the window"),
            Result(_T.NUM, "window_interval", "seconds that the window took, by median times", optional=True),
            Result(_T.NUM, "window_tx_count", "transactions in the window, where that is known", optional=True),
            Result(_T.NUM, "txrate", "transactions a second in the window", optional=True),
        ),
    ),
    examples=(("", "2016"),),
)
def getchaintxstats(ctx: ReaderContext, nblocks: Any, blockhash: str | None) -> dict[str, Any]:
    """Return the statistics of a window. Raises RpcError -5, or -8 for a block off the chain or a wrong number."""
    with ctx.reader.snapshot() as snapshot:
        last = _last_block(snapshot, blockhash)
        count = _window(nblocks, last.height, MONTH_S // ctx.params.pow_target_spacing)
        first = snapshot.ancestor(last, last.height - count)
        assert first is not None, "the window lies within the chain"
        interval = snapshot.median_time_past(last) - snapshot.median_time_past(first)
    answer: dict[str, Any] = {"time": last.time}
    if last.chain_tx_count:
        answer["txcount"] = last.chain_tx_count
    answer["window_final_block_hash"] = hash_to_hex(last.hash)
    answer["window_final_block_height"] = last.height
    answer["window_block_count"] = count
    if count > 0:
        answer["window_interval"] = interval
        if last.chain_tx_count and first.chain_tx_count:
            transactions = last.chain_tx_count - first.chain_tx_count
            answer["window_tx_count"] = transactions
            if interval > 0:
                answer["txrate"] = number_json(transactions / interval)
    return answer


def _last_block(snapshot: ChainSnapshot, blockhash: str | None) -> BlockRow:
    if blockhash is None:
        return tip_row(snapshot)
    row = find_row(snapshot, parse_hash(blockhash, "blockhash"))
    if not snapshot.is_active(row):
        raise RpcError(RpcCode.INVALID_PARAMETER, "Block is not in main chain")
    return row


def _window(nblocks: Any, height: int, month: int) -> int:
    if nblocks is None:
        return max(0, min(month, height - 1))
    count = parse_int(nblocks)
    if count < 0 or (count > 0 and count >= height):
        raise RpcError(RpcCode.INVALID_PARAMETER, "Invalid block count: should be between 0 and the block's height - 1")
    return count
