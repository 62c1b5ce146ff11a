"""Blocks of the log with what they spend, read for all subscribers of a process.

Owns: the last few blocks, and what is said when one is pruned. Never: the log.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeVar

from clarion.node.errors import BlockFileError, DecodeError, StreamError
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage.block_status import HAVE_DATA
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.rows import BlockRow

T = TypeVar("T")

_BLOCKS_KEPT = 8
_PAGE = 1000


class StoredBlocks:
    """Reads blocks and undo data by hash. Thread-safe: two threads may read the same block at worst."""

    def __init__(self, reader: ChainReader) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._blocks: OrderedDict[BlockHash, Block] = OrderedDict()
        self._spent: OrderedDict[BlockHash, Sequence[Sequence[Coin]]] = OrderedDict()

    def block(self, block_hash: BlockHash) -> Block:
        """Return the parsed block. Raises StreamError `pruned`, and StorageError where it is damaged or missing."""
        found = self._blocks.get(block_hash)
        if found is None:
            try:
                found = Block.parse(self._reader.read_block(self._row(block_hash)))
            except DecodeError as error:
                raise BlockFileError(f"block {hash_to_hex(block_hash)} is damaged: {error}") from error
            self._keep(self._blocks, block_hash, found)
        return found

    def spent(self, block_hash: BlockHash) -> Sequence[Sequence[Coin]]:
        """Return what each transaction spends, nothing for the coinbase. Raises as `block`."""
        found = self._spent.get(block_hash)
        if found is None:
            found = [[], *self._reader.read_undo(self._row(block_hash))]
            self._keep(self._spent, block_hash, found)
        return found

    def lowest_height(self) -> int:
        """Return the lowest height from which on all blocks of the active chain are stored."""
        with self._reader.snapshot() as view:
            above = view.height() + 1
            while above > 0:
                start = max(0, above - _PAGE)
                for row in reversed(view.rows_from(start, above - start)):
                    if not row.status & HAVE_DATA:
                        return row.height + 1
                above = start
        return 0

    def _row(self, block_hash: BlockHash) -> BlockRow:
        with self._reader.snapshot() as view:
            row = view.block(block_hash)
        if row is None:
            raise BlockFileError(f"block {hash_to_hex(block_hash)} is not in the block index")
        if not row.status & HAVE_DATA:
            lowest = self.lowest_height()
            raise StreamError(
                "pruned",
                f"block {row.height} is pruned; blocks are stored from height {lowest} on",
                height=row.height,
                lowest_height=lowest,
            )
        return row

    def _keep(self, kept: "OrderedDict[BlockHash, T]", block_hash: BlockHash, value: T) -> None:
        with self._lock:
            kept[block_hash] = value
            if len(kept) > _BLOCKS_KEPT:
                kept.popitem(last=False)
