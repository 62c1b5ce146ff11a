"""Unspent outputs as the tip sees them, alone or with what the mempool makes and spends.

Owns: the look-up on the chain thread, where both are of one moment, and the API's own question for it. Never: answers.
"""

from collections.abc import Sequence
from typing import Any

from clarion.api.rpc.context import NodeContext, ReaderContext
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.mempool.coins_view import MempoolCoins
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint

Unspent = tuple[BlockIndexEntry, list[Coin | None]]


def look_up(ctx: NodeContext, outpoints: Sequence[OutPoint], *, with_mempool: bool) -> Unspent:
    """Return (tip, each coin or None if it is spent or never was) of one moment.

    Coins of the mempool have the height `lock_points.MEMPOOL_HEIGHT`.
    """
    return ctx.chain.submit(_look_up, ctx, outpoints, with_mempool).result()


def _look_up(ctx: NodeContext, outpoints: Sequence[OutPoint], with_mempool: bool) -> Unspent:
    manager = ctx.chain.manager
    tip = manager.settled_tip()
    fetch = manager.state.coins.fetch
    if not with_mempool:
        found = fetch(outpoints)
        return tip, [found.get(outpoint) for outpoint in outpoints]
    # Only this thread changes the pool, so nothing does meanwhile.
    pool = ctx.mempool.pool
    coins = MempoolCoins(pool.entries, fetch)
    return tip, [None if pool.spender(outpoint) is not None else coins.get(outpoint) for outpoint in outpoints]


@rpc_method(
    "_find_unspent",
    category="hidden",
    where=NODE,
    internal=True,
    description="Looks up unspent outputs by their outpoints in hex, with or without the mempool.",
)
def find_unspent(ctx: NodeContext, with_mempool: bool, *outpoints: str) -> list[Any]:
    """Return [height of the tip, its hash in hex, [height, value, script in hex] or None of each output]."""
    wanted = [OutPoint(bytes.fromhex(outpoint)) for outpoint in outpoints]
    tip, coins = look_up(ctx, wanted, with_mempool=with_mempool)
    told = [None if coin is None else [coin.height, coin.value, coin.script_pubkey.hex()] for coin in coins]
    return [tip.height, tip.hash.hex(), told]


def ask_unspent(
    ctx: ReaderContext, outpoints: Sequence[OutPoint], *, with_mempool: bool
) -> tuple[int, BlockHash, list[Coin | None]]:
    """Return (height and hash of the tip, each coin or None) from the node. Called from a thread."""
    asked = [with_mempool, *[outpoint.hex() for outpoint in outpoints]]
    height, tip, coins = ctx.node.call_blocking("_find_unspent", asked)
    return (
        height,
        BlockHash(bytes.fromhex(tip)),
        [None if coin is None else Coin(coin[1], bytes.fromhex(coin[2]), coin[0] * 2) for coin in coins],
    )
