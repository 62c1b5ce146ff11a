"""Chains of headers without proof of work, for tests of the tree."""

from clarion.node.chain.block_index import BlockIndex, BlockIndexEntry
from clarion.node.primitives.block import BlockHeader
from clarion.node.primitives.ids import NULL_HASH
from clarion.node.storage.chain_store import encode_block_row
from clarion.node.storage.rows import BlockPage

EASY_BITS = 0x207FFFFF


def header_on(prev_hash: bytes, time: int, nonce: int = 0, bits: int = EASY_BITS) -> BlockHeader:
    return BlockHeader(0x20000000, prev_hash, bytes(32), time, bits, nonce)


def grow(index: BlockIndex, start: BlockIndexEntry | None, count: int, nonce: int = 0) -> list[BlockIndexEntry]:
    """Add `count` headers, ten minutes apart, on top of `start` (or of nothing) and return their entries."""
    entries = []
    prev_hash, time = (start.hash, start.time) if start else (NULL_HASH, 1_300_000_000)
    for _ in range(count):
        time += 600
        entries.append(index.add(header_on(prev_hash, time, nonce)))
        prev_hash = entries[-1].hash
    return entries


def page_of(*entries: BlockIndexEntry) -> BlockPage:
    """Return entries as storage gives them back."""
    return BlockPage(*zip(*[encode_block_row(entry.row()) for entry in entries], strict=True))
