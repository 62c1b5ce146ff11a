"""BIP30: no block may overwrite outputs that are not spent.

Owns: where the rule must be checked, its two exceptions, and its shortcut through BIP34. Never: looking coins up.
"""

from clarion.node.consensus.constants import BIP34_IMPLIES_BIP30_LIMIT
from clarion.node.consensus.position import ChainPosition
from clarion.node.errors import BlockInvalid
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import BlockHash, OutPoint, hash_from_hex, make_outpoint
from clarion.node.primitives.script import is_unspendable

_BIP30_REPEATS = {
    91_842: hash_from_hex("00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec"),
    91_880: hash_from_hex("00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721"),
}
"""The two blocks whose coinbase overwrites the unspent coinbase of an earlier block."""

BIP30_UNSPENDABLE = {
    91_722: hash_from_hex("00000000000271a2dc26e7667f8419f2e15416dc6955e5a6c6cdf3f2574dd08e"),
    91_812: hash_from_hex("00000000000af0aed4792b1acee3d966af36cf5def14935db8de83d6f9306f2f"),
}
"""The two blocks whose coinbase was overwritten before it was spent."""


def bip30_outpoints(
    block: Block, position: ChainPosition, params: ChainParams, *, exact: bool = False
) -> list[OutPoint]:
    """Return the outpoints that must not exist as coins before the block is connected (BIP30).

    Empty where the rule needn't be looked at: on a chain through the known block at BIP34's height, below the height
    at which that argument ends (as in the reference); and where BIP34 rules every block behind genesis, since all
    coinbases then differ, thus all transactions, and no output can be overwritten by a block that keeps the other
    rules. The reference has no such shortcut: with `exact` it is left out, which tells a refused block's reason
    exactly as the reference does. For the two historical exceptions it names the coinbase's outputs, which replace
    existing coins there: the caller must not take these for new ones.
    """
    if position.prev is None:
        return []
    txs = block.txs
    if is_bip30_repeat(position):
        txs = txs[:1]
    elif not _bip30_enforced(position, params) or (params.bip34_height <= 1 and not exact):
        return []
    return [
        make_outpoint(tx.txid, index)
        for tx in txs
        for index, txout in enumerate(tx.outputs)
        if not is_unspendable(txout.script_pubkey)
    ]


def is_bip30_repeat(position: ChainPosition) -> bool:
    """Return whether this is one of the two blocks that overwrite an unspent coinbase."""
    return is_bip30_repeat_at(position.height, position.hash)


def is_bip30_repeat_at(height: int, block_hash: BlockHash) -> bool:
    """Return the same by height and hash (internal order)."""
    return _BIP30_REPEATS.get(height) == block_hash


def is_bip30_unspendable(height: int, block_hash: BlockHash) -> bool:
    """Return whether this is one of the two blocks whose coinbase another one overwrites before it is spent."""
    return BIP30_UNSPENDABLE.get(height) == block_hash


def _bip30_enforced(position: ChainPosition, params: ChainParams) -> bool:
    if position.height >= BIP34_IMPLIES_BIP30_LIMIT:
        return True
    if is_bip30_repeat(position):
        return False
    assert position.prev is not None
    bip34_block = position.prev.ancestor(params.bip34_height)
    return bip34_block is None or bip34_block.hash != params.bip34_hash


def bip30_violation() -> BlockInvalid:
    """Return the error of a block that would overwrite an unspent output."""
    return BlockInvalid("bad-txns-BIP30", "tried to overwrite transaction")
