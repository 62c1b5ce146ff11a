"""The wire encoding's building blocks: CompactSize and length-prefixed bytes.

Owns: the canonical form and its limit. Never: what the numbers mean.
"""

import struct

from clarion.node.errors import DecodeError, EndOfData

MAX_SIZE = 0x02000000
"""Largest length that a serialised vector may announce (the reference's MAX_SIZE, 32 MiB)."""

_U16 = struct.Struct("<H").unpack_from
_U32 = struct.Struct("<I").unpack_from
_U64 = struct.Struct("<Q").unpack_from


def read_compact_size(data: bytes, offset: int, *, range_check: bool = True) -> tuple[int, int]:
    """Return (value, offset behind it) of the CompactSize at `offset`.

    Raises DecodeError if it is cut off, not in its shortest form, or (with `range_check`) larger than MAX_SIZE.
    """
    try:
        first = data[offset]
        if first < 253:
            return first, offset + 1
        if first == 253:
            value, end, least = _U16(data, offset + 1)[0], offset + 3, 253
        elif first == 254:
            value, end, least = _U32(data, offset + 1)[0], offset + 5, 0x10000
        else:
            value, end, least = _U64(data, offset + 1)[0], offset + 9, 0x100000000
    except (IndexError, struct.error):
        raise EndOfData(f"data ends inside a CompactSize at byte {offset}") from None
    if value < least:
        # In the words that tools look for in the log.
        raise DecodeError(f"non-canonical ReadCompactSize() at byte {offset}")
    if range_check and value > MAX_SIZE:
        raise DecodeError(f"ReadCompactSize(): size too large at byte {offset}: {value}, at most {MAX_SIZE}")
    return value, end


def compact_size(value: int) -> bytes:
    """Return the shortest CompactSize encoding of `value` (0 to 2^64 - 1)."""
    if value < 253:
        return bytes((value,))
    if value < 0x10000:
        return b"\xfd" + value.to_bytes(2, "little")
    if value < 0x100000000:
        return b"\xfe" + value.to_bytes(4, "little")
    return b"\xff" + value.to_bytes(8, "little")


def var_bytes(data: bytes) -> bytes:
    """Return `data` with its length in front as a CompactSize."""
    return compact_size(len(data)) + data


def read_var_bytes(data: bytes, offset: int) -> tuple[bytes, int]:
    """Return (bytes, offset behind them) of a length-prefixed string. Raises DecodeError if it is cut off."""
    length, start = read_compact_size(data, offset)
    end = start + length
    if end > len(data):
        raise EndOfData(f"data ends inside a string of {length} bytes at byte {offset}")
    return data[start:end], end
