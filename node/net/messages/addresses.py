"""Addresses of other nodes: addr and addrv2.

Owns: their encoding. Never: what is believed or passed on.
"""

from dataclasses import dataclass
from typing import Self

from clarion.node.errors import DecodeError
from clarion.node.net.address import MAX_ADDRV2_SIZE, UNSPECIFIED, Endpoint, from_v2
from clarion.node.net.messages.handshake import read_endpoint_v1
from clarion.node.net.messages.message import Message
from clarion.node.net.reader import U32, U64, Reader
from clarion.node.primitives.codec import compact_size


@dataclass(frozen=True, slots=True)
class TimedAddress:
    """An endpoint with what it offers and when it was last seen, in Unix seconds."""

    time: int
    services: int
    endpoint: Endpoint

    def to_v1(self) -> bytes:
        """Return the old encoding."""
        return U32(self.time) + U64(self.services) + self.endpoint.to_v1()

    def to_v2(self) -> bytes:
        """Return BIP155's encoding."""
        return U32(self.time) + compact_size(self.services) + self.endpoint.to_v2()


def read_v1(reader: Reader) -> TimedAddress:
    """Return an entry in the old encoding."""
    return TimedAddress(reader.unsigned(4), reader.unsigned(8), read_endpoint_v1(reader))


def read_v2(reader: Reader) -> TimedAddress:
    """Return an entry in BIP155's encoding; on an unknown network its address is UNSPECIFIED."""
    time, services = reader.unsigned(4), reader.compact_size(range_check=False)
    network_id = reader.unsigned(1)
    length = reader.compact_size()
    if length > MAX_ADDRV2_SIZE:
        raise DecodeError(f"Address too long: {length} > {MAX_ADDRV2_SIZE}")
    address = from_v2(network_id, reader.take(length))
    return TimedAddress(time, services, Endpoint(address or UNSPECIFIED, reader.unsigned_big(2)))


@dataclass(frozen=True, slots=True)
class Addr(Message):
    """Addresses in the old encoding. More than 1,000 are misbehaviour, which the receiver judges."""

    command = "addr"

    addresses: tuple[TimedAddress, ...]

    def serialize(self) -> bytes:
        """Return the payload."""
        return compact_size(len(self.addresses)) + b"".join([each.to_v1() for each in self.addresses])

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(tuple(reader.vector(read_v1)))


@dataclass(frozen=True, slots=True)
class AddrV2(Message):
    """Addresses in BIP155's encoding."""

    command = "addrv2"

    addresses: tuple[TimedAddress, ...]

    def serialize(self) -> bytes:
        """Return the payload."""
        return compact_size(len(self.addresses)) + b"".join([each.to_v2() for each in self.addresses])

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(tuple(reader.vector(read_v2)))
