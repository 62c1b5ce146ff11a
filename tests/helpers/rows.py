"""Rows and coins for storage tests."""

import hashlib

from clarion.node.events.row import EventKind, EventRow
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint, make_outpoint
from clarion.node.storage.rows import BlockRow, ChainCommit


def digest(text: str) -> bytes:
    """Return 32 bytes that only `text` gives."""
    return hashlib.sha256(text.encode()).digest()


def block_hash(height: int, branch: str = "a") -> BlockHash:
    """Return the hash of a branch's block."""
    return BlockHash(digest(f"block {branch} {height}"))


def block_row(height: int, branch: str = "a", *, parent: str | None = None, time: int | None = None) -> BlockRow:
    """Return a block's row; `parent` names the branch of its parent where that is another one."""
    prev = block_hash(height - 1, parent or branch) if height else bytes(32)
    seconds = 1_300_000_000 + 600 * height if time is None else time
    header = bytes(4) + prev + bytes(32) + seconds.to_bytes(4, "little") + bytes(8)
    return BlockRow(block_hash(height, branch), header, height, 2 * height + 2, 5, 1, height + 1, 0, 8 + height, 80)


def connected(height: int, branch: str = "a") -> EventRow:
    """Return the event of a connected block."""
    return EventRow(EventKind.BLOCK_CONNECTED, block_hash(height, branch), height, 1_700_000_000 + height)


def chain_of(count: int, branch: str = "a") -> ChainCommit:
    """Return the commit that connects blocks 0 to count - 1."""
    rows = [block_row(height, branch) for height in range(count)]
    return ChainCommit(
        blocks=rows,
        connect=[(row.height, row.hash) for row in rows],
        events=[connected(row.height, branch) for row in rows],
    )


def outpoint(number: int, index: int = 0) -> OutPoint:
    """Return an outpoint of made-up transaction `number`."""
    return make_outpoint(digest(f"tx {number}"), index)


def coin(number: int) -> Coin:
    """Return a coin that tells its number."""
    return Coin(1_000 + number, b"\x51" * (number % 40), 2 * number + number % 2)
