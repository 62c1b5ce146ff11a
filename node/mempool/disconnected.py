"""Transactions of blocks that a reorganisation took off the chain, until it is over.

Owns: their order and how many are kept. Never: what becomes of them (see `block_updates`).
"""

from collections.abc import Iterable

from clarion.node.mempool.memory_usage import HASH_NODE, LIST_NODE, malloc_usage, transaction_usage
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.transaction import Transaction

MAX_USAGE_BYTES = 20_000_000
"""By the reference's estimate of its own memory."""

_BUCKET = 8


class DisconnectedTransactions:
    """The most recently confirmed stands first. Where there are too many, the most recent go: nothing depends on them."""

    def __init__(self, max_usage_bytes: int = MAX_USAGE_BYTES) -> None:
        self._max_usage = max_usage_bytes
        self._txs: dict[Txid, Transaction] = {}
        self._inner_usage = 0

    def __len__(self) -> int:
        return len(self._txs)

    @property
    def usage_bytes(self) -> int:
        """What they would take in the reference's memory, with a hash table as large as it must be."""
        count = len(self._txs)
        return self._inner_usage + (LIST_NODE + HASH_NODE) * count + malloc_usage(_BUCKET * count)

    def add_block(self, block: Block) -> list[Transaction]:
        """Take the transactions of a block, which was the tip; return those that there is no room for."""
        for tx in reversed(block.txs):
            self._txs[tx.txid] = tx
            self._inner_usage += transaction_usage(tx)
        evicted = []
        while self._txs and self.usage_bytes > self._max_usage:
            first = self._txs.pop(next(iter(self._txs)))
            self._inner_usage -= transaction_usage(first)
            evicted.append(first)
        return evicted

    def remove_confirmed(self, txs: Iterable[Transaction]) -> None:
        """Forget what a connected block holds."""
        if not self._txs:
            return
        for tx in txs:
            known = self._txs.pop(tx.txid, None)
            if known is not None:
                self._inner_usage -= transaction_usage(known)

    def take(self) -> list[Transaction]:
        """Return all, in the order in which they were confirmed, and forget them."""
        txs = list(reversed(self._txs.values()))
        self._txs = {}
        self._inner_usage = 0
        return txs
