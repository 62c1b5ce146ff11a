"""Messages that open a connection and keep it: version, ping, pong, feefilter, sendcmpct, sendtxrcncl.

Owns: their encoding. Never: when they may be sent.
"""

import struct
from dataclasses import dataclass
from typing import Self

from clarion.node.net.address import NO_ENDPOINT, Endpoint, from_v1
from clarion.node.net.messages.message import Message
from clarion.node.net.protocol import MAX_SUBVERSION_LENGTH
from clarion.node.net.reader import U64, Reader
from clarion.node.primitives.codec import var_bytes

_VERSION = struct.Struct("<iQq")


def read_endpoint_v1(reader: Reader) -> Endpoint:
    """Return address and port in the old encoding."""
    return Endpoint(from_v1(reader.take(16)), reader.unsigned_big(2))


@dataclass(frozen=True, slots=True)
class Version(Message):
    """Who the sender is. `time` in Unix seconds; the services beside the endpoints are those of each end."""

    command = "version"

    version: int
    services: int
    time: int
    receiver_services: int = 0
    receiver: Endpoint = NO_ENDPOINT
    sender_services: int = 0
    sender: Endpoint = NO_ENDPOINT
    nonce: int = 0
    """Random; by it a node recognises that it is connected to itself."""
    subversion: str = ""
    start_height: int = -1
    relay: bool = True

    def serialize(self) -> bytes:
        """Return the payload."""
        return b"".join(
            (
                _VERSION.pack(self.version, self.services, self.time),
                U64(self.receiver_services) + self.receiver.to_v1(),
                U64(self.sender_services) + self.sender.to_v1(),
                U64(self.nonce) + var_bytes(self.subversion.encode()),
                self.start_height.to_bytes(4, "little", signed=True) + bytes((self.relay,)),
            )
        )

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message; everything behind the receiver may be missing, as in the first versions."""
        version, services, time = reader.signed(4), reader.unsigned(8), reader.signed(8)
        receiver_services, receiver = reader.unsigned(8), read_endpoint_v1(reader)
        sender_services, sender, nonce, subversion, start_height, relay = 0, NO_ENDPOINT, 0, "", -1, True
        if reader.left:
            sender_services, sender, nonce = reader.unsigned(8), read_endpoint_v1(reader), reader.unsigned(8)
        if reader.left:
            subversion = reader.var_bytes(MAX_SUBVERSION_LENGTH).decode("utf-8", "replace")
        if reader.left:
            start_height = reader.signed(4)
        if reader.left:
            relay = reader.flag()
        return cls(
            version, services, time, receiver_services, receiver, sender_services, sender, nonce, subversion,
            start_height, relay,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ping(Message):
    """Asks for a pong with the same nonce; without one from peers before BIP31."""

    command = "ping"

    nonce: int | None = None

    def serialize(self) -> bytes:
        """Return the payload."""
        return b"" if self.nonce is None else U64(self.nonce)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(reader.unsigned(8) if reader.left >= 8 else None)


@dataclass(frozen=True, slots=True)
class Pong(Message):
    """Answers a ping."""

    command = "pong"

    nonce: int

    def serialize(self) -> bytes:
        """Return the payload."""
        return U64(self.nonce)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(reader.unsigned(8))


@dataclass(frozen=True, slots=True)
class FeeFilter(Message):
    """Asks not to announce transactions below a fee rate, in satoshis per 1,000 virtual bytes (BIP133)."""

    command = "feefilter"

    fee_rate: int

    def serialize(self) -> bytes:
        """Return the payload."""
        return self.fee_rate.to_bytes(8, "little", signed=True)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(reader.signed(8))


@dataclass(frozen=True, slots=True)
class SendCmpct(Message):
    """Says that compact blocks are understood and, with `high_bandwidth`, wanted unasked (BIP152)."""

    command = "sendcmpct"

    high_bandwidth: bool
    version: int

    def serialize(self) -> bytes:
        """Return the payload."""
        return bytes((self.high_bandwidth,)) + U64(self.version)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(reader.flag(), reader.unsigned(8))
