"""What calls about a block need of it again and again: its sizes, its coinbase, its txids, its merkle tree.

Owns: making these facts of a block once. Never: what changes with the chain, rendering.
"""

from typing import Any, NamedTuple

from clarion.api.render.block import block_summary
from clarion.api.rpc.context import ReaderContext
from clarion.node.primitives.block_outline import outline_block
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.partial_merkle_tree import merkle_levels
from clarion.node.storage.rows import BlockRow

_NODE_BYTES = 80
"""What a hash in a list takes."""


class BlockFacts(NamedTuple):
    """`summary` is what `block_summary` returns."""

    summary: dict[str, Any]
    txids: list[Txid]


def block_facts(ctx: ReaderContext, row: BlockRow) -> BlockFacts:
    """Return the facts of a block. Raises BlockFileError if it can't be read."""
    ctx.reader.check_block_file(row)

    def make() -> BlockFacts:
        outline = outline_block(ctx.reader.read_block(row))
        return BlockFacts(block_summary(outline.base_size, outline.size, outline.coinbase), outline.txids)

    return ctx.facts.get(("facts", row.hash), make, lambda facts: _NODE_BYTES * len(facts.txids))


def block_merkle_levels(ctx: ReaderContext, row: BlockRow) -> list[list[bytes]]:
    """Return a block's merkle tree, `[0]` its txids. Raises BlockFileError if it can't be read."""
    txids = block_facts(ctx, row).txids
    return ctx.facts.get(
        ("tree", row.hash), lambda: merkle_levels(txids), lambda levels: 2 * _NODE_BYTES * len(levels[0])
    )
