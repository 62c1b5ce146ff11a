"""Identifiers of blocks and transactions, and how they are shown.

Owns: the NewTypes and the one place where byte order is reversed. Never: hashing.
"""

from typing import NewType

from clarion.node.errors import DecodeError

BlockHash = NewType("BlockHash", bytes)
"""32 bytes in internal order: the double SHA-256 of the 80 header bytes."""

Txid = NewType("Txid", bytes)
"""32 bytes in internal order: the hash of the transaction without its witness."""

Wtxid = NewType("Wtxid", bytes)
"""32 bytes in internal order: the hash of the transaction with its witness."""

OutPoint = NewType("OutPoint", bytes)
"""36 bytes as on the wire: txid in internal order, then the output's index as little-endian uint32."""

NULL_HASH = bytes(32)
NULL_OUTPOINT = OutPoint(bytes(32) + b"\xff\xff\xff\xff")
"""The prevout of a coinbase input."""


def hash_to_hex(value: bytes) -> str:
    """Return 32 bytes in internal order as the reversed hex that people and clients see."""
    return value[::-1].hex()


def hash_from_hex(text: str) -> bytes:
    """Return the internal byte order of a displayed hash. Raises DecodeError unless it is 64 hex digits."""
    if len(text) != 64:
        raise DecodeError(f"a hash has 64 hex digits, this has {len(text)}")
    try:
        return bytes.fromhex(text)[::-1]
    except ValueError:
        raise DecodeError(f"not a hexadecimal hash: {text!r}") from None


def make_outpoint(txid: bytes, index: int) -> OutPoint:
    """Return the 36 wire bytes of output `index` of transaction `txid` (internal order)."""
    return OutPoint(txid + index.to_bytes(4, "little"))


def outpoint_txid(outpoint: bytes) -> Txid:
    """Return the transaction part of an outpoint, in internal order."""
    return Txid(outpoint[:32])


def outpoint_index(outpoint: bytes) -> int:
    """Return the output index of an outpoint."""
    return int.from_bytes(outpoint[32:], "little")
