"""What -blockfilterindex stores of each block, for whoever serves it.

Owns: keys and values. Never: making filters.
Of a block at a height, "f" + height + hash holds the encoded filter, "h" + height + hash its hash and its header. Blocks
that left the chain keep theirs.
"""

from collections.abc import Sequence
from typing import NamedTuple

from clarion.node.storage.index_store import IndexSnapshot

NAME = "basic block filter index"
STORE_NAME = "blockfilterbasic"


class FilterHeader(NamedTuple):
    """A filter's hash, and the header that commits to it and all before it; internal order."""

    filter_hash: bytes
    header: bytes


def filter_key(height: int, block_hash: bytes) -> bytes:
    """Return the key of a block's filter."""
    return b"f" + height.to_bytes(4, "big") + block_hash


def header_key(height: int, block_hash: bytes) -> bytes:
    """Return the key of a block's filter hash and header."""
    return b"h" + height.to_bytes(4, "big") + block_hash


def decode_header(value: bytes) -> FilterHeader:
    """Return what is stored under a `header_key`."""
    return FilterHeader(value[:32], value[32:])


def find_filters(view: IndexSnapshot, blocks: Sequence[tuple[int, bytes]]) -> list[bytes] | None:
    """Return the encoded filters of blocks, each a height and a hash; None if one is missing."""
    return _find(view, [filter_key(height, block_hash) for height, block_hash in blocks])


def find_headers(view: IndexSnapshot, blocks: Sequence[tuple[int, bytes]]) -> list[FilterHeader] | None:
    """Return hash and header of the filters of blocks, each a height and a hash; None if one is missing."""
    found = _find(view, [header_key(height, block_hash) for height, block_hash in blocks])
    return None if found is None else [decode_header(value) for value in found]


def _find(view: IndexSnapshot, keys: list[bytes]) -> list[bytes] | None:
    found = view.get_many(keys)
    return [found[key] for key in keys] if len(found) == len(set(keys)) else None
