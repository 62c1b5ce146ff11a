"""Compact block filters (BIP157): getcfilters, cfilter, getcfheaders, cfheaders, getcfcheckpt, cfcheckpt.

Owns: their encoding. Never: the filters.
"""

from dataclasses import dataclass
from typing import Self

from clarion.node.net.messages.message import Message
from clarion.node.net.reader import U32, Reader
from clarion.node.primitives.codec import compact_size, var_bytes
from clarion.node.primitives.ids import BlockHash


@dataclass(frozen=True, slots=True)
class FilterRange(Message):
    """Asks for the blocks from a height up to a block."""

    filter_type: int
    start_height: int
    stop_hash: BlockHash

    def serialize(self) -> bytes:
        """Return the payload."""
        return bytes((self.filter_type,)) + U32(self.start_height) + self.stop_hash

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(reader.unsigned(1), reader.unsigned(4), BlockHash(reader.hash32()))


@dataclass(frozen=True, slots=True)
class GetCFilters(FilterRange):
    """Asks for filters."""

    command = "getcfilters"


@dataclass(frozen=True, slots=True)
class GetCFHeaders(FilterRange):
    """Asks for filter hashes."""

    command = "getcfheaders"


@dataclass(frozen=True, slots=True)
class GetCFCheckpt(Message):
    """Asks for every thousandth filter header up to a block."""

    command = "getcfcheckpt"

    filter_type: int
    stop_hash: BlockHash

    def serialize(self) -> bytes:
        """Return the payload."""
        return bytes((self.filter_type,)) + self.stop_hash

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(reader.unsigned(1), BlockHash(reader.hash32()))


@dataclass(frozen=True, slots=True)
class CFilter(Message):
    """The filter of a block."""

    command = "cfilter"

    filter_type: int
    block_hash: BlockHash
    encoded: bytes

    def serialize(self) -> bytes:
        """Return the payload."""
        return bytes((self.filter_type,)) + self.block_hash + var_bytes(self.encoded)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(reader.unsigned(1), BlockHash(reader.hash32()), reader.var_bytes())


@dataclass(frozen=True, slots=True)
class CFHeaders(Message):
    """The filter header before the range, and the hashes of its filters."""

    command = "cfheaders"

    filter_type: int
    stop_hash: BlockHash
    previous_header: bytes
    hashes: tuple[bytes, ...]

    def serialize(self) -> bytes:
        """Return the payload."""
        head = bytes((self.filter_type,)) + self.stop_hash + self.previous_header
        return head + compact_size(len(self.hashes)) + b"".join(self.hashes)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(reader.unsigned(1), BlockHash(reader.hash32()), reader.hash32(), tuple(reader.vector(Reader.hash32)))


@dataclass(frozen=True, slots=True)
class CFCheckpt(Message):
    """Every thousandth filter header."""

    command = "cfcheckpt"

    filter_type: int
    stop_hash: BlockHash
    headers: tuple[bytes, ...]

    def serialize(self) -> bytes:
        """Return the payload."""
        return bytes((self.filter_type,)) + self.stop_hash + compact_size(len(self.headers)) + b"".join(self.headers)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(reader.unsigned(1), BlockHash(reader.hash32()), tuple(reader.vector(Reader.hash32)))
