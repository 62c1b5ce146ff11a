"""Where the API finds coins for the inputs of a transaction: the node's own question to itself.

Owns: coins as the tip sees them, through the cache. Never: signing, rendering.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext, ReaderContext
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.node.chain.manager import ChainManager
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxOut


def _coins(manager: ChainManager, outpoints: list[OutPoint]) -> list[TxOut | None]:
    """Look coins up. Runs on the chain thread."""
    coins = [manager.get_coin(outpoint)[0] for outpoint in outpoints]
    return [None if coin is None else TxOut(coin.value, coin.script_pubkey) for coin in coins]


@rpc_method(
    "_find_coins",
    category="hidden",
    where=NODE,
    internal=True,
    description="Looks up outputs by their outpoints in hex.",
)
def find_coins(ctx: NodeContext, *outpoints: str) -> list[list[Any] | None]:
    """Return value and script in hex of each output, None of those that are spent or never were."""
    wanted = [OutPoint(bytes.fromhex(outpoint)) for outpoint in outpoints]
    coins = ctx.chain.submit(_coins, ctx.chain.manager, wanted).result()
    return [None if coin is None else [coin.value, coin.script_pubkey.hex()] for coin in coins]


def spent_outputs(ctx: ReaderContext, tx: Transaction) -> dict[OutPoint, TxOut]:
    """Return the outputs that the inputs spend, as far as the node has them. Called from a thread."""
    prevouts = list(dict.fromkeys(txin.prevout for txin in tx.inputs))
    found = ctx.node.call_blocking("_find_coins", [prevout.hex() for prevout in prevouts])
    return {
        prevout: TxOut(coin[0], bytes.fromhex(coin[1]))
        for prevout, coin in zip(prevouts, found, strict=True)
        if coin is not None
    }
