"""Reading a payload from its first to its last byte.

Owns: the position, bounds and the encoding's basic types. Never: what the values mean.
"""

import struct
from collections.abc import Callable
from typing import TypeVar

from clarion.node.errors import DecodeError, EndOfData
from clarion.node.primitives.codec import read_compact_size

T = TypeVar("T")


class Reader:
    """A position in bytes. Every method raises DecodeError where the bytes end too early."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> int:
        """How many bytes have not been read."""
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        end = self.at + count
        if end > len(self.data):
            raise EndOfData(f"{count} bytes are wanted at byte {self.at}, {self.left} are left")
        part = self.data[self.at : end]
        self.at = end
        return part

    def unsigned(self, size: int) -> int:
        """Return a little-endian number of `size` bytes."""
        return int.from_bytes(self.take(size), "little")

    def signed(self, size: int) -> int:
        """Return a signed little-endian number of `size` bytes."""
        return int.from_bytes(self.take(size), "little", signed=True)

    def unsigned_big(self, size: int) -> int:
        """Return a big-endian number of `size` bytes (ports)."""
        return int.from_bytes(self.take(size), "big")

    def flag(self) -> bool:
        """Return a byte as a truth value."""
        return self.take(1) != b"\x00"

    def compact_size(self, *, range_check: bool = True) -> int:
        """Return a CompactSize; with `range_check` one above 32 MiB is an error."""
        value, self.at = read_compact_size(self.data, self.at, range_check=range_check)
        return value

    def var_bytes(self, limit: int | None = None) -> bytes:
        """Return bytes with their length in front, at most `limit` of them."""
        length = self.compact_size()
        if limit is not None and length > limit:
            raise DecodeError(f"a string of {length} bytes at byte {self.at}, at most {limit} are allowed")
        return self.take(length)

    def vector(self, read: "Callable[[Reader], T]", limit: int | None = None) -> list[T]:
        """Return a counted list of what `read` returns. Memory follows the bytes that are there, not the count."""
        count = self.compact_size()
        if limit is not None and count > limit:
            raise DecodeError(f"a list of {count} items at byte {self.at}, at most {limit} are allowed")
        return [read(self) for _ in range(count)]

    def hash32(self) -> bytes:
        """Return a 32-byte hash in internal order."""
        return self.take(32)


U16, U32, U64 = (struct.Struct(layout).pack for layout in ("<H", "<I", "<Q"))
"""Encode little-endian numbers."""
