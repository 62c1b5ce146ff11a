"""What every message has in common.

Owns: the base class, and messages without content. Never: dispatch.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from clarion.node.net.reader import Reader


class Message:
    """A message. `parse` ignores bytes behind what it knows, as the reference does: later versions may add some."""

    __slots__ = ()
    command: ClassVar[str]

    def serialize(self) -> bytes:
        """Return the payload."""
        return b""

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message at the reader's position. Raises DecodeError."""
        return cls()

    @classmethod
    def parse(cls, payload: bytes) -> Self:
        """Return the message of a payload. Raises DecodeError."""
        return cls.read(Reader(payload))


@dataclass(frozen=True, slots=True)
class Verack(Message):
    """The peer's version message is accepted."""

    command = "verack"


@dataclass(frozen=True, slots=True)
class GetAddr(Message):
    """Asks for addresses of other nodes."""

    command = "getaddr"


@dataclass(frozen=True, slots=True)
class SendAddrV2(Message):
    """Asks for addresses in BIP155's encoding."""

    command = "sendaddrv2"


@dataclass(frozen=True, slots=True)
class SendHeaders(Message):
    """Asks for new blocks to be announced by their headers (BIP130)."""

    command = "sendheaders"


@dataclass(frozen=True, slots=True)
class WtxidRelay(Message):
    """Says that transactions are announced by wtxid (BIP339)."""

    command = "wtxidrelay"


@dataclass(frozen=True, slots=True)
class Mempool(Message):
    """Asks for the inventory of the memory pool (BIP35)."""

    command = "mempool"
