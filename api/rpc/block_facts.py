"""What calls about a block need of it again and again: its sizes, its coinbase, its merkle tree.

Owns: making these facts of a block once. Never: what changes with the chain, rendering.
"""

from typing import Any, NamedTuple

from clarion.api.render.block import block_summary
from clarion.api.rpc.context import ReaderContext
from clarion.node.primitives.block import Block
from clarion.node.primitives.partial_merkle_tree import merkle_levels
from clarion.node.storage.rows import BlockRow

_NODE_BYTES = 80
"""What a hash in a list takes."""


class BlockFacts(NamedTuple):
    """`summary` as `block_summary` has it; `levels[0]` are the txids, the others the merkle tree above them."""

    summary: dict[str, Any]
    levels: list[list[bytes]]


def block_facts(ctx: ReaderContext, row: BlockRow) -> BlockFacts:
    """Return the facts of a block. Raises BlockFileError if it can't be read."""
    ctx.reader.check_block_file(row)

    def make() -> BlockFacts:
        block = Block.parse(ctx.reader.read_block(row))
        return BlockFacts(block_summary(block), merkle_levels([tx.txid for tx in block.txs]))

    return ctx.facts.get(("facts", row.hash), make, lambda facts: 2 * _NODE_BYTES * len(facts.levels[0]))
