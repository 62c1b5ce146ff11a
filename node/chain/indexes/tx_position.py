"""Where a transaction lies in the block files, as indexes store it.

Owns: the encoding, and reading the transaction back. Never: which transactions are indexed.
"""

import struct
from collections.abc import Iterator

from clarion.node.errors import BlockFileError, DecodeError
from clarion.node.primitives.block import HEADER_SIZE, Block, BlockHeader
from clarion.node.primitives.codec import compact_size
from clarion.node.primitives.ids import BlockHash
from clarion.node.primitives.transaction import Transaction
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.rows import BlockPosition

# File, offset of the block, offset of the transaction in it, length of the transaction.
_POSITION = struct.Struct(">IIII")


def tx_positions(block: Block, position: BlockPosition) -> Iterator[tuple[Transaction, bytes]]:
    """Yield each transaction of a block that lies at `position`, with what is stored of its place."""
    at = HEADER_SIZE + len(compact_size(len(block.txs)))
    for tx in block.txs:
        yield tx, _POSITION.pack(position.file, position.offset, at, len(tx.raw))
        at += len(tx.raw)


def read_transaction_at(files: BlockFiles, stored: bytes) -> tuple[Transaction, BlockHash]:
    """Return a transaction and the hash of its block. Raises BlockFileError if its file is missing or damaged."""
    file, block_at, at, length = _POSITION.unpack(stored)
    try:
        header = BlockHeader.parse(files.read_part(file, block_at, HEADER_SIZE))
        return Transaction.parse(files.read_part(file, block_at + at, length)), header.hash
    except DecodeError as error:
        path = files.path(file)
        raise BlockFileError(f"{path}: no transaction at offset {block_at + at}: {error}") from None
