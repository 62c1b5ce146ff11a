"""Where the API finds transactions and coins that only the live node knows: its own questions to the node.

Owns: transactions of the mempool, and coins as the tip and the mempool see them. Never: signing, rendering.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext, ReaderContext
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.node.chain.manager import ChainManager
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.ids import OutPoint, Txid, outpoint_index, outpoint_txid
from clarion.node.primitives.transaction import Transaction, TxOut


@rpc_method(
    "_mempool_transaction",
    category="hidden",
    where=NODE,
    internal=True,
    description="Looks up a transaction of the mempool by its txid in hex, internal order.",
)
def mempool_transaction(ctx: NodeContext, txid: str) -> str | None:
    """Return the transaction's bytes in hex, None if it is not in the mempool."""
    pool = ctx.mempool.pool
    with pool.lock:
        entry = pool.get(Txid(bytes.fromhex(txid)))
    return None if entry is None else entry.tx.raw.hex()


def find_mempool_transaction(ctx: ReaderContext, txid: bytes) -> Transaction | None:
    """Return a transaction of the mempool, None if it is not there. Called from a thread."""
    found = ctx.node.call_blocking("_mempool_transaction", [txid.hex()])
    return None if found is None else Transaction.parse(bytes.fromhex(found))


def _coins(manager: ChainManager, pool: Mempool, outpoints: list[OutPoint]) -> list[TxOut | None]:
    """Look coins up, those of the mempool first. Runs on the chain thread, so that chain and mempool fit together."""
    with pool.lock:
        entries = [pool.get(outpoint_txid(outpoint)) for outpoint in outpoints]
    found: list[TxOut | None] = []
    for outpoint, entry in zip(outpoints, entries, strict=True):
        if entry is not None:
            outputs, index = entry.tx.outputs, outpoint_index(outpoint)
            found.append(outputs[index] if index < len(outputs) else None)
            continue
        coin, _ = manager.get_coin(outpoint)
        found.append(None if coin is None else TxOut(coin.value, coin.script_pubkey))
    return found


@rpc_method(
    "_find_coins",
    category="hidden",
    where=NODE,
    internal=True,
    description="Looks up outputs by their outpoints in hex.",
)
def find_coins(ctx: NodeContext, *outpoints: str) -> list[list[Any] | None]:
    """Return value and script in hex of each output, None of those that the chain spent or that never were.

    Whether the mempool spends an output does not matter.
    """
    wanted = [OutPoint(bytes.fromhex(outpoint)) for outpoint in outpoints]
    coins = ctx.chain.submit(_coins, ctx.chain.manager, ctx.mempool.pool, wanted).result()
    return [None if coin is None else [coin.value, coin.script_pubkey.hex()] for coin in coins]


def spent_outputs(ctx: ReaderContext, tx: Transaction) -> dict[OutPoint, TxOut]:
    """Return the outputs that the inputs spend, as far as the node has them. Called from a thread."""
    return find_coins_at(ctx, [txin.prevout for txin in tx.inputs])


def find_coins_at(ctx: ReaderContext, outpoints: list[OutPoint]) -> dict[OutPoint, TxOut]:
    """Return the outputs of the chain and the mempool at these places, as far as there are any. Called from a thread."""
    wanted = list(dict.fromkeys(outpoints))
    found = ctx.node.call_blocking("_find_coins", [outpoint.hex() for outpoint in wanted])
    return {
        outpoint: TxOut(coin[0], bytes.fromhex(coin[1]))
        for outpoint, coin in zip(wanted, found, strict=True)
        if coin is not None
    }
