"""Whether bytes are the block whose hash they stand under.

Owns: comparing hash, merkle root and witness commitment. Never: whether the block is valid, reading files.
"""

from clarion.node.consensus.witness import check_merkle_root, check_witness_malleation
from clarion.node.errors import BlockInvalid, DecodeError
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage.rows import BlockRow


def block_name(row: BlockRow) -> str:
    """Return how messages name a block."""
    return f"block {hash_to_hex(row.hash)} at height {row.height}"


def find_damage(raw: bytes, block_hash: BlockHash) -> str | None:
    """Return in words why these bytes can't be the block of this hash, None if they are it.

    Every byte is covered: the header by the hash, transactions by the merkle root, witnesses by the commitment (BIP141).
    """
    try:
        if BlockHeader.parse(raw).hash != block_hash:
            return "another block's header is in its place"
        block = Block.parse(raw)
        check_merkle_root(block)
        # A stored block with witnesses was accepted by the rules of segwit; without any there is nothing to be damaged.
        if any(tx.has_witness for tx in block.txs):
            check_witness_malleation(block, expect_commitment=True)
    except DecodeError as error:
        return f"it can't be decoded: {error}"
    except BlockInvalid as invalid:
        return f"its transactions are not those of its header: {invalid}"
    return None
