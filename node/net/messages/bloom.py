"""Messages of light clients: filterload, filteradd, filterclear, merkleblock (BIP37).

Owns: their encoding. Never: what a filter matches.
"""

from dataclasses import dataclass
from typing import Self

from clarion.node.net.messages.message import Message
from clarion.node.net.reader import U32, Reader
from clarion.node.primitives.block import BlockHeader
from clarion.node.primitives.codec import var_bytes
from clarion.node.primitives.partial_merkle_tree import PartialMerkleTree


@dataclass(frozen=True, slots=True)
class FilterLoad(Message):
    """Asks to hear only of transactions that a filter matches."""

    command = "filterload"

    data: bytes
    hashes: int
    tweak: int
    flags: int

    def serialize(self) -> bytes:
        """Return the payload."""
        return var_bytes(self.data) + U32(self.hashes) + U32(self.tweak) + bytes((self.flags,))

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(reader.var_bytes(), reader.unsigned(4), reader.unsigned(4), reader.unsigned(1))


@dataclass(frozen=True, slots=True)
class FilterAdd(Message):
    """Adds an item to the filter."""

    command = "filteradd"

    item: bytes

    def serialize(self) -> bytes:
        """Return the payload."""
        return var_bytes(self.item)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(reader.var_bytes())


@dataclass(frozen=True, slots=True)
class FilterClear(Message):
    """Asks to hear of all transactions again."""

    command = "filterclear"


@dataclass(frozen=True, slots=True)
class MerkleBlock(Message):
    """A block's header, and the proof of which transactions in it match the filter."""

    command = "merkleblock"

    header: BlockHeader
    tree: PartialMerkleTree

    def serialize(self) -> bytes:
        """Return the payload."""
        return self.header.serialize() + self.tree.serialize()

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message, whose tree ends with the payload."""
        header = BlockHeader.parse(reader.take(80))
        tree = PartialMerkleTree.parse(reader.take(reader.left))
        return cls(header, tree)
