"""Inventory: what a peer has, wants and has not: inv, getdata, notfound.

Owns: their encoding. Never: requests.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

from clarion.node.net.messages.message import Message
from clarion.node.net.protocol import inv_name
from clarion.node.net.reader import U32, Reader
from clarion.node.primitives.codec import compact_size


class Inv(NamedTuple):
    """One item: its type (`InvType`, or a number that we don't know) and its hash in internal order."""

    type: int
    hash: bytes

    def __str__(self) -> str:
        return f"{inv_name(self.type)} {self.hash[::-1].hex()}"


def _read_inv(reader: Reader) -> Inv:
    return Inv(reader.unsigned(4), reader.hash32())


@dataclass(frozen=True, slots=True)
class InventoryMessage(Message):
    """A list of items. More than 50,000 are misbehaviour, which the receiver judges."""

    items: tuple[Inv, ...]

    def serialize(self) -> bytes:
        """Return the payload."""
        return compact_size(len(self.items)) + b"".join([U32(item.type) + item.hash for item in self.items])

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(tuple(reader.vector(_read_inv)))


@dataclass(frozen=True, slots=True)
class InvMessage(InventoryMessage):
    """What the sender has."""

    command = "inv"


@dataclass(frozen=True, slots=True)
class GetData(InventoryMessage):
    """What the sender wants."""

    command = "getdata"


@dataclass(frozen=True, slots=True)
class NotFound(InventoryMessage):
    """What the sender was asked for and does not have."""

    command = "notfound"
