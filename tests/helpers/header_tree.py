"""A random tree of headers, for tests that compare walks over it with plain searches."""

import random

from clarion.node.chain.block_index import BlockIndex, BlockIndexEntry
from clarion.node.storage import block_status
from helpers.headers import header_on


def random_tree(seed: int, count: int = 400) -> list[BlockIndexEntry]:
    """Return entries of a tree with long and short branches, parents first; most headers build on a recent one."""
    choose = random.Random(seed)
    index = BlockIndex()
    entries = [index.add(header_on(bytes(32), 1_300_000_000))]
    for nonce in range(1, count):
        prev = entries[-1] if choose.random() < 0.8 else choose.choice(entries[-30:])
        time = prev.time + choose.randrange(-1000, 2000)
        entries.append(index.add(header_on(prev.hash, time, nonce)))
    return entries


def fill_in(entries: list[BlockIndexEntry], seed: int) -> None:
    """Give the tree blocks: some are missing, some failed with all that builds on them."""
    choose = random.Random(seed)
    for sequence, entry in enumerate(entries):
        prev = entry.prev
        entry.sequence_id = choose.choice([1, sequence])
        if (prev is not None and prev.failed) or choose.random() < 0.02:
            entry.status |= block_status.FAILED_VALID
        if choose.random() < 0.95:
            entry.status |= block_status.HAVE_DATA | block_status.HAVE_UNDO
            entry.raise_validity(block_status.VALID_TRANSACTIONS)
            entry.tx_count = 1
            entry.file, entry.data_pos, entry.data_size = sequence % 3, choose.randrange(10**9), 300
            entry.undo_pos, entry.undo_size = choose.randrange(10**9), 40
            if prev is None or prev.chain_tx_count:
                entry.chain_tx_count = 1 + (prev.chain_tx_count if prev is not None else 0)
