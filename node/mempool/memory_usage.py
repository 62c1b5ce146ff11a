"""What the pool would take in the reference's memory: the number that -maxmempool is compared with.

Owns: the reference's estimate, rebuilt from the sizes of its structures on 64-bit Linux, so that both nodes evict at the
same point. Never: what Python really takes (some 1.5 kB beside each transaction).
"""

from clarion.node.primitives.transaction import Transaction

_TX = 128
_TXIN = 112
_TXOUT = 48
_VECTOR = 24
_INLINE_SCRIPT = 36
"""Scripts up to this length lie inside the input or output."""

RANDOMIZED_ENTRY = 40
"""A transaction in the list from which compact blocks are rebuilt: wtxid and pointer."""


def malloc_usage(size: int) -> int:
    """Return what an allocation of `size` bytes takes."""
    return (size + 31) >> 4 << 4 if size else 0


SHARED_TX = malloc_usage(_TX) + malloc_usage(24)
ENTRY = malloc_usage(136 + 9 * 8)
"""A pool entry with its places in three indexes."""
SPENT_OUTPOINT = malloc_usage(32 + 16)
"""An input's place in the map of what the pool spends."""
FEE_DELTA = malloc_usage(32 + 40)
"""A prioritised transaction."""
LIST_NODE = malloc_usage(16 + 16)
"""A transaction in a list, as those of disconnected blocks are."""
HASH_NODE = malloc_usage(8 + 40)
"""A transaction's place in the table that finds it in such a list, without the table's buckets."""


def _script_usage(script: bytes) -> int:
    return malloc_usage(len(script)) if len(script) > _INLINE_SCRIPT else 0


def transaction_usage(tx: Transaction) -> int:
    """Return the bytes that a shared transaction takes there, with all that hangs from it."""
    usage = SHARED_TX + malloc_usage(_TXIN * len(tx.inputs)) + malloc_usage(_TXOUT * len(tx.outputs))
    for txin in tx.inputs:
        usage += _script_usage(txin.script_sig)
        if txin.witness:
            usage += malloc_usage(_VECTOR * len(txin.witness))
            usage += sum([malloc_usage(len(item)) for item in txin.witness])
    for txout in tx.outputs:
        usage += _script_usage(txout.script_pubkey)
    return usage


class GrowingArray:
    """The capacity of a C++ vector that grows by doubling and shrinks when half of it is empty."""

    __slots__ = ("_capacity", "_count", "_item_bytes")

    def __init__(self, item_bytes: int) -> None:
        self._item_bytes = item_bytes
        self._count = self._capacity = 0

    def grow(self) -> None:
        """Note one more item."""
        if self._count == self._capacity:
            self._capacity = max(1, self._capacity * 2)
        self._count += 1

    def shrink(self) -> None:
        """Note one item less. The last one leaves the memory as it is."""
        self._count -= 1
        if self._count and self._count * 2 < self._capacity:
            self._capacity = self._count

    @property
    def usage_bytes(self) -> int:
        """The bytes that it takes."""
        return malloc_usage(self._item_bytes * self._capacity)
