"""Partial merkle trees: the proof that some transactions are in a block (BIP37).

Owns: building, encoding, decoding and checking them. Never: which block a proof belongs to.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from clarion.node.errors import DecodeError, EndOfData
from clarion.node.primitives.codec import compact_size, read_compact_size, read_var_bytes, var_bytes
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import Txid

MAX_TRANSACTIONS = 4_000_000 // (4 * 60)
"""No block has more: its weight over that of the smallest transaction."""


class _Broken(Exception):
    """The tree does not describe what it claims to."""


@dataclass(frozen=True, slots=True)
class PartialMerkleTree:
    """A merkle tree of `tx_count` leaves with all but the ways to some of them cut off.

    `hashes` and `bits` stand in the order of a walk from the root that visits the left side first: a set bit means that
    a wanted leaf lies below (or here), and an inner node with that bit has no hash of its own.
    """

    tx_count: int
    hashes: Sequence[bytes]
    bits: Sequence[bool]

    def serialize(self) -> bytes:
        """Return the encoding of BIP37's merkleblock message behind the header."""
        packed = bytearray(-(-len(self.bits) // 8))
        for at, bit in enumerate(self.bits):
            packed[at >> 3] |= bit << (at & 7)
        hashes = compact_size(len(self.hashes)) + b"".join(self.hashes)
        return self.tx_count.to_bytes(4, "little") + hashes + var_bytes(bytes(packed))

    @classmethod
    def parse(cls, data: bytes, offset: int = 0) -> "PartialMerkleTree":
        """Return the tree at `offset`. Bytes behind it are no fault. Raises DecodeError."""
        if len(data) < offset + 4:
            raise EndOfData(f"a partial merkle tree begins with 4 bytes, {max(0, len(data) - offset)} are left")
        count, at = read_compact_size(data, offset + 4)
        end = at + 32 * count
        if end > len(data):
            raise EndOfData(f"data ends inside {count} hashes at byte {at}")
        hashes = [data[start : start + 32] for start in range(at, end, 32)]
        packed, _ = read_var_bytes(data, end)
        bits = [bool(packed[number >> 3] >> (number & 7) & 1) for number in range(8 * len(packed))]
        return cls(int.from_bytes(data[offset : offset + 4], "little"), hashes, bits)

    def extract(self) -> tuple[bytes, list[Txid]]:
        """Return (merkle root, wanted txids in block order) if the tree is well-formed. Raises DecodeError if not."""
        if not 0 < self.tx_count <= MAX_TRANSACTIONS:
            raise DecodeError(f"a partial merkle tree of {self.tx_count} transactions")
        if len(self.hashes) > self.tx_count or len(self.bits) < len(self.hashes):
            raise DecodeError(f"{len(self.hashes)} hashes and {len(self.bits)} bits do not fit together")
        walk = _Walk(self)
        try:
            root = walk.node(_height(self.tx_count), 0)
        except (_Broken, StopIteration):
            raise DecodeError("the partial merkle tree is inconsistent") from None
        # Up to seven bits fill the last byte; everything else must have had its use.
        if -(-walk.bits_used // 8) != -(-len(self.bits) // 8) or walk.hashes_used != len(self.hashes):
            raise DecodeError("the partial merkle tree holds more than it needs")
        return root, walk.found


class _Walk:
    """One walk over a tree: what it has used, and the wanted leaves that it met."""

    def __init__(self, tree: PartialMerkleTree) -> None:
        self._count = tree.tx_count
        self._bits: Iterator[bool] = iter(tree.bits)
        self._hashes: Iterator[bytes] = iter(tree.hashes)
        self.bits_used = 0
        self.hashes_used = 0
        self.found: list[Txid] = []

    def node(self, height: int, position: int) -> bytes:
        wanted = next(self._bits)
        self.bits_used += 1
        if height == 0 or not wanted:
            node_hash = next(self._hashes)
            self.hashes_used += 1
            if wanted:
                self.found.append(Txid(node_hash))
            return node_hash
        left = self.node(height - 1, 2 * position)
        if 2 * position + 1 >= _width(self._count, height - 1):
            return sha256d(left + left)
        right = self.node(height - 1, 2 * position + 1)
        if left == right:
            # Two equal halves would let a longer list of transactions have the same root (CVE-2012-2459).
            raise _Broken
        return sha256d(left + right)


def _width(tx_count: int, height: int) -> int:
    """Return how many nodes a tree of `tx_count` leaves has at a height (0: the leaves)."""
    return -(-tx_count >> height)


def _height(tx_count: int) -> int:
    return (tx_count - 1).bit_length()


def merkle_levels(txids: Sequence[Txid]) -> list[list[bytes]]:
    """Return a block's merkle tree from its leaves, of which there is at least one, to its root."""
    levels: list[list[bytes]] = [list(txids)]
    while len(below := levels[-1]) > 1:
        # An odd last node is paired with itself.
        pairs = zip_longest(below[::2], below[1::2], fillvalue=below[-1])
        levels.append([sha256d(left + right) for left, right in pairs])
    return levels


def partial_merkle_tree(levels: Sequence[Sequence[bytes]], wanted: Collection[Txid]) -> PartialMerkleTree:
    """Return the tree that proves the place of the `wanted` ones in a block whose whole tree `merkle_levels` made."""
    positions = {position for position, txid in enumerate(levels[0]) if txid in wanted}
    marks = [positions]
    for _ in levels[1:]:
        marks.append({position >> 1 for position in marks[-1]})
    hashes: list[bytes] = []
    bits: list[bool] = []

    def visit(height: int, position: int) -> None:
        is_marked = position in marks[height]
        bits.append(is_marked)
        if height == 0 or not is_marked:
            hashes.append(levels[height][position])
            return
        visit(height - 1, 2 * position)
        if 2 * position + 1 < len(levels[height - 1]):
            visit(height - 1, 2 * position + 1)

    visit(len(levels) - 1, 0)
    return PartialMerkleTree(len(levels[0]), hashes, bits)
