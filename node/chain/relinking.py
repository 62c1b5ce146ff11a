"""Counting the chain's transactions again, from genesis upwards.

Owns: which blocks count as linked. Never: candidates, storage.
"""

from collections.abc import Iterator

from clarion.node.chain.block_index import BlockIndex, BlockIndexEntry


def relink(index: BlockIndex) -> Iterator[BlockIndexEntry]:
    """Set the count of transactions of every block by its own and its parent's, and yield those that had another.

    A block has none while it, or any before it, was never there.
    """
    columns = index.columns
    counts, own, prev = columns.chain_tx_count, columns.tx_count, columns.prev
    for number in sorted(range(len(columns)), key=columns.height.__getitem__):
        parent = prev[number]
        linked = own[number] and (parent < 0 or counts[parent])
        count = own[number] + (counts[parent] if parent >= 0 else 0) if linked else 0
        if counts[number] != count:
            counts[number] = count
            yield index.entry(number)
