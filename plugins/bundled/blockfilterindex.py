"""-blockfilterindex: the compact filter of each block, with its header (BIP157, BIP158).

Owns: making them as blocks come. Never: serving them.
"""

from clarion.node.chain.indexes.filter_records import (
    NAME,
    STORE_NAME,
    decode_header,
    filter_key,
    header_key,
)
from clarion.node.chain.indexes.index import Index, IndexBatch, IndexedBlock
from clarion.node.config import Config
from clarion.node.primitives.block_filter import basic_filter, filter_header
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import NULL_HASH
from clarion.plugins.hookspecs import hookimpl


class BasicFilterIndex:
    """The index of basic filters."""

    name = NAME
    store_name = STORE_NAME
    needs_spent = True

    def connect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Store filter, hash and header."""
        encoded = basic_filter(block.block, block.spent)
        filter_hash = sha256d(encoded)
        previous = NULL_HASH
        if block.height:
            stored = batch.get(header_key(block.height - 1, block.block.header.prev_hash))
            assert stored is not None, "the parent's filter is indexed"
            previous = decode_header(stored).header
        batch.put(filter_key(block.height, block.block.hash), encoded)
        header = filter_header(filter_hash, previous)
        batch.put(header_key(block.height, block.block.hash), filter_hash + header)

    def disconnect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Leave everything: it stays true of that block."""


@hookimpl
def register_indexes(config: Config) -> list[Index]:
    """Return the index if -blockfilterindex asks for it."""
    return [BasicFilterIndex()] if "basic" in config.block_filter_types else []
