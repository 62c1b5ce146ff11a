"""Disconnecting a block from the coins.

Owns: what taking a block back changes, and whether that fits the coins. Never: fetching or storing coins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clarion.node.consensus.bip30 import BIP30_UNSPENDABLE
from clarion.node.errors import BlockFileError
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, make_outpoint
from clarion.node.primitives.script import is_unspendable


@dataclass(frozen=True, slots=True)
class DisconnectDelta:
    """The effect of taking a block back: drop all of `removed`, then put back all of `restored`.

    Coins that are born and spent inside the block are in neither. `removed` holds the coins as the block made them.
    `unclean`: the coins at hand are not as the block left them, so the undo data belongs to another state.
    """

    removed: Mapping[OutPoint, Coin]
    restored: Mapping[OutPoint, Coin]
    unclean: bool


def touched_outpoints(block: Block) -> list[OutPoint]:
    """Return every outpoint that connecting the block may have changed: the ones to look at when it is taken back."""
    touched = [txin.prevout for tx in block.txs[1:] for txin in tx.inputs]
    return touched + [make_outpoint(tx.txid, index) for tx in block.txs for index in range(len(tx.outputs))]


def disconnect_block(
    block: Block, undo: Sequence[Sequence[Coin]], height: int, *, current: Mapping[OutPoint, Coin] | None = None
) -> DisconnectDelta:
    """Return what disconnecting the block at `height` changes.

    `undo[i]` holds the coins that transaction `i + 1` spent, in the order of its inputs. With `current`, the coins
    that exist now (at least those that the delta names), it is also found out whether they fit; else `unclean` is
    False. Raises BlockFileError if the undo data is of another block.
    """
    txs = block.txs
    if len(undo) + 1 != len(txs):
        raise BlockFileError("block and undo data inconsistent")
    removed: dict[OutPoint, Coin] = {}
    restored: dict[OutPoint, Coin] = {}
    for tx_index in range(len(txs) - 1, -1, -1):
        tx = txs[tx_index]
        code = height * 2 + (tx_index == 0)
        for index, txout in enumerate(tx.outputs):
            if is_unspendable(txout.script_pubkey):
                continue
            outpoint = make_outpoint(tx.txid, index)
            # What a later transaction of the block spent neither exists now nor will it.
            if restored.pop(outpoint, None) is None:
                removed[outpoint] = Coin(txout.value, txout.script_pubkey, code)
        if tx_index:
            coins = undo[tx_index - 1]
            if len(coins) != len(tx.inputs):
                raise BlockFileError("transaction and undo data inconsistent")
            for txin, coin in zip(tx.inputs, coins, strict=True):
                restored[txin.prevout] = coin
    unclean = current is not None and _is_unclean(block, height, removed, restored, current)
    return DisconnectDelta(removed, restored, unclean)


def _is_unclean(
    block: Block,
    height: int,
    removed: Mapping[OutPoint, Coin],
    restored: Mapping[OutPoint, Coin],
    current: Mapping[OutPoint, Coin],
) -> bool:
    overwritten = BIP30_UNSPENDABLE.get(height) == block.hash
    for outpoint, coin in removed.items():
        if current.get(outpoint) != coin and not (overwritten and coin.is_coinbase):
            return True
    return any(outpoint in current for outpoint in restored if outpoint not in removed)
