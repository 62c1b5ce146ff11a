"""The last blocks that were connected, as they still are in memory, so that no index reads them from a file.

Owns: keeping a few, and forgetting them. Never: the chain.
"""

import threading
from collections import OrderedDict

from clarion.node.consensus.delta import BlockDelta
from clarion.node.primitives.ids import BlockHash

KEPT_BLOCKS = 4


class RecentDeltas:
    """Deltas by block hash. Filled by the chain thread, read by any."""

    def __init__(self, limit: int = KEPT_BLOCKS) -> None:
        """`limit` 0 keeps nothing."""
        self._limit = limit
        self._deltas: OrderedDict[BlockHash, BlockDelta] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, delta: BlockDelta) -> None:
        """Take note of a block whose scripts have passed."""
        if not self._limit:
            return
        with self._lock:
            self._deltas[delta.block.hash] = delta
            while len(self._deltas) > self._limit:
                self._deltas.popitem(last=False)

    def get(self, block_hash: BlockHash) -> BlockDelta | None:
        """Return the delta of a block, None if it is too old."""
        with self._lock:
            return self._deltas.get(block_hash)
