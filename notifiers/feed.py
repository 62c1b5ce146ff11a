"""The log as the lanes read it: rows in order, each block read and parsed once for all of them.

Owns: the window of rows and blocks that lanes share. Never: delivery; anything that writes.
"""

import contextlib
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from clarion.node.errors import BlockFileError, DecodeError
from clarion.node.events.row import EventRow
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage.rows import BlockPosition, StoredBlock

_ROWS_KEPT = 256
_BLOCKS_KEPT = 2


class EventSource(Protocol):
    """Where rows and blocks come from. Calls may come from any thread, `behind` beside others, else one at a time."""

    @property
    def log_id(self) -> str:
        """The log's id in hex."""

    def last_seq(self) -> int:
        """Return the number of the newest durable row, 0 for an empty log."""

    def read(self, after_seq: int, limit: int) -> list[EventRow]:
        """Return up to `limit` durable rows behind `after_seq`, in order."""

    def behind(self, seq: int) -> tuple[int, int | None]:
        """Return how many events the rows above a number expand to, and when the oldest was logged."""

    def block_bytes(self, block_hash: BlockHash) -> bytes:
        """Return the raw block. Raises BlockFileError if it is missing or damaged."""

    def stored_bytes(self, position: BlockPosition) -> bytes:
        """Return the raw block at a place of the block files. Raises BlockFileError if there is none."""

    def close(self) -> None:
        """Give files and connections back."""


class FeedEvent:
    """A row with its block within reach (a `LoggedEvent`). Holds no block itself, so waiting rows stay small."""

    __slots__ = ("_feed", "row")

    def __init__(self, row: EventRow, feed: "Feed") -> None:
        self.row = row
        self._feed = feed

    @property
    def log_id(self) -> str:
        """The log's id in hex."""
        return self._feed.log_id

    def block(self) -> Block:
        """Return the row's block. Raises StorageError."""
        return self._feed.block(self.row.block_hash)


class Feed:
    """Reads for all lanes, from any thread. A lane far behind reads from the log itself, past the shared window."""

    def __init__(self, source: EventSource) -> None:
        self.log_id = source.log_id
        self._source = source
        self._lock = threading.Lock()
        self._window: deque[FeedEvent] = deque(maxlen=_ROWS_KEPT)
        self._blocks: dict[BlockHash, Block] = {}

    def last_seq(self) -> int:
        """Return the number of the newest durable row."""
        with self._lock:
            return self._source.last_seq()

    def behind(self, seq: int) -> tuple[int, int | None]:
        """Return how many events the rows above a number expand to, and when the oldest was logged. Raises StorageError."""
        return self._source.behind(seq)

    def read(self, after_seq: int, limit: int) -> Sequence[FeedEvent]:
        """Return up to `limit` rows behind `after_seq`, in order; none when the log has no more. Raises StorageError."""
        with self._lock:
            window = self._window
            if window and window[0].row.seq <= after_seq + 1 <= window[-1].row.seq:
                # Retention leaves gaps between the numbers of old rows.
                start = bisect_right(window, after_seq, key=lambda event: event.row.seq)
                return [window[at] for at in range(start, min(start + limit, len(window)))]
            events = [FeedEvent(row, self) for row in self._source.read(after_seq, limit)]
            if events and window and after_seq != window[-1].row.seq:
                if events[0].row.seq <= window[-1].row.seq:
                    return events  # a lane that is behind must not push out what the others are about to read
                window.clear()
            window.extend(events)
            return events

    def block(self, block_hash: BlockHash) -> Block:
        """Return a parsed block; the last few are kept. Raises StorageError."""
        with self._lock:
            block = self._blocks.get(block_hash)
            if block is None:
                block = _parse(block_hash, self._source.block_bytes(block_hash))
                self._keep(block)
            return block

    def prepare(self, stored: StoredBlock) -> None:
        """Have a block at hand before its row is in the log. One that can't be read or parsed is left to `block`."""
        with self._lock:
            if stored.block_hash not in self._blocks:
                with contextlib.suppress(BlockFileError):
                    self._keep(_parse(stored.block_hash, self._source.stored_bytes(stored.position)))

    def _keep(self, block: Block) -> None:
        self._blocks[block.hash] = block
        if len(self._blocks) > _BLOCKS_KEPT:
            del self._blocks[next(iter(self._blocks))]

    def close(self) -> None:
        """Close the source."""
        with self._lock:
            self._source.close()


def _parse(block_hash: BlockHash, raw: bytes) -> Block:
    try:
        block = Block.parse(raw)
    except DecodeError as error:
        raise BlockFileError(f"block {hash_to_hex(block_hash)} is damaged: {error}") from error
    if block.hash != block_hash:
        raise BlockFileError(f"block {hash_to_hex(block_hash)} is damaged: another block lies in its place")
    return block
