"""Compact block filters of BIP158: sets of scripts as Golomb-Rice coded hashes.

Owns: which scripts of a block count, the encoding, matching, and filter headers (BIP157). Never: where filters are kept.
"""

from collections.abc import Iterable, Iterator, Sequence

from clarion.node.errors import DecodeError
from clarion.node.primitives.block import Block
from clarion.node.primitives.codec import compact_size, read_compact_size
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.opcodes import OP_RETURN
from clarion.node.primitives.siphash import siphash_many

BASIC_FILTER = 0
"""The type's number in messages."""

_P = 19
_M = 784_931
_LOW = (1 << _P) - 1


def basic_elements(block: Block, spent: Iterable[Sequence[Coin]]) -> set[bytes]:
    """Return the scripts of a block's outputs, but for OP_RETURN, and of the outputs that it spends; none is empty."""
    made = {txout.script_pubkey for tx in block.txs for txout in tx.outputs}
    elements = {script for script in made if script and script[0] != OP_RETURN}
    elements.update(coin.script_pubkey for coins in spent for coin in coins)
    elements.discard(b"")
    return elements


def encode_filter(block_hash: bytes, elements: set[bytes]) -> bytes:
    """Return the filter of a block: number of elements, then the differences of their sorted hashes."""
    count = len(elements)
    if not count:
        return b"\x00"
    bits, last = [], 0
    for value in _hashes(block_hash, list(elements), count):
        difference, last = value - last, value
        bits.append("1" * (difference >> _P) + "0" + format(difference & _LOW, "019b"))
    text = "".join(bits)
    size = -(-len(text) // 8)
    return compact_size(count) + int(text.ljust(8 * size, "0"), 2).to_bytes(size, "big")


def basic_filter(block: Block, spent: Iterable[Sequence[Coin]]) -> bytes:
    """Return the encoded basic filter of a block that spends these coins."""
    return encode_filter(block.hash, basic_elements(block, spent))


def filter_header(filter_hash: bytes, previous_header: bytes) -> bytes:
    """Return the header that commits to a filter and all before it. Hashes are in internal order."""
    return sha256d(filter_hash + previous_header)


def match_any(encoded: bytes, block_hash: bytes, elements: Iterable[bytes]) -> bool:
    """Whether any of the elements may be in a block's filter: never no for one that is. Raises DecodeError."""
    wanted = list(set(elements))
    count, at = _read_count(encoded)
    if not count or not wanted:
        return False
    hashes = set(_hashes(block_hash, wanted, count))
    return any(value in hashes for value in _decode(encoded, at, count))


def _hashes(block_hash: bytes, elements: Sequence[bytes], count: int) -> list[int]:
    """Return the sorted hashes in a filter of `count` elements: below count * M, by the upper half of a product."""
    k0, k1 = int.from_bytes(block_hash[:8], "little"), int.from_bytes(block_hash[8:16], "little")
    limit = count * _M
    return sorted([value * limit >> 64 for value in siphash_many(k0, k1, elements)])


def _read_count(encoded: bytes) -> tuple[int, int]:
    try:
        return read_compact_size(encoded, 0)
    except IndexError:
        raise DecodeError("a filter without a count") from None


def _decode(encoded: bytes, at: int, count: int) -> Iterator[int]:
    body = encoded[at:]
    text = format(int.from_bytes(body, "big"), f"0{8 * len(body)}b") if body else ""
    position, value = 0, 0
    for _ in range(count):
        end = text.find("0", position)
        low = text[end + 1 : end + 1 + _P]
        if end < 0 or len(low) < _P:
            raise DecodeError("a filter ends inside an element")
        value += (end - position << _P) + int(low, 2)
        position = end + 1 + _P
        yield value
