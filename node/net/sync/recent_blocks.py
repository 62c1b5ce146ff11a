"""The block that everybody asks for now.

Owns: the last block in memory, with its compact form. Never: deciding who gets it.
"""

import secrets

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.errors import BlockFileError, DecodeError
from clarion.node.net.messages.compact import CompactBlock
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import BlockHash
from clarion.node.primitives.transaction import Transaction
from clarion.node.storage.block_files import BlockFiles


class RecentBlocks:
    """Keeps one block decoded; others are read from their files."""

    def __init__(self, files: BlockFiles) -> None:
        self._files = files
        self._block: Block | None = None
        self._compact: CompactBlock | None = None

    def keep(self, block: Block) -> None:
        """Take note of a block that has just come."""
        if self._block is None or self._block.hash != block.hash:
            self._block, self._compact = block, None

    def get(self, entry: BlockIndexEntry) -> Block | None:
        """Return a block, None if its file is gone or damaged."""
        if self._block is not None and self._block.hash == entry.hash:
            return self._block
        try:
            return Block.parse(self._files.read(entry.data_position))
        except (BlockFileError, DecodeError):
            return None

    def compact(self, entry: BlockIndexEntry) -> CompactBlock | None:
        """Return a block's compact form, the same for all who ask for the last one."""
        if self._compact is not None and self._compact.header.hash == entry.hash:
            return self._compact
        block = self.get(entry)
        if block is None:
            return None
        compact = CompactBlock.of_block(block, secrets.randbits(64))
        if block is self._block:
            self._compact = compact
        return compact

    def transaction(self, wanted: bytes) -> Transaction | None:
        """Return the last block's transaction with this txid or wtxid, None if it has none."""
        if self._block is None:
            return None
        return next((tx for tx in self._block.txs if wanted in (tx.txid, tx.wtxid)), None)

    @property
    def hash(self) -> BlockHash | None:
        """The hash of the block in memory."""
        return None if self._block is None else self._block.hash
