"""What connecting one block changes.

Owns: the immutable value that the coins cache, undo files, events and indexes all read. Never: applying it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint


@dataclass(frozen=True, slots=True)
class BlockDelta:
    """The effect of one block on the coins.

    `created` holds every spendable output of the block by outpoint, also those that a later transaction of the same
    block spends; `spent[i]` holds the coins that transaction `i + 1` (the coinbase has none) spends, in the order of
    its inputs. To apply it: add all of `created`, then remove the prevouts of all transactions but the first.
    """

    block: Block
    height: int
    prev_hash: BlockHash
    created: Mapping[OutPoint, Coin]
    spent: Sequence[Sequence[Coin]]
    fees: int
    """Sum of the fees in satoshis."""
    spent_raw: Sequence[bytes] = ()
    """`spent` as on the wire, one string of outputs for each list: undo files and script workers both need it."""
