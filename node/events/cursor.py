"""Cursors: how far a subscriber has come in the event log, as text that is opaque to him.

Owns: their encoding. Never: looking anything up.
`log:seq.index:height:hash`: everything up to event (seq, index) of that log was handled; the block is the row's, hash as
people write it. It shows whether the log is still the one that the cursor was made from, and where the chain was.
`:end.end…` follows where the subscriber's ranges of descriptors grow with use: how far each had grown by then. He comes again
with the request that he began with, and what the growth let him see must go on.
"""

import re
from dataclasses import dataclass

from clarion.node.errors import StreamError
from clarion.node.events.row import EventRow
from clarion.node.primitives.ids import NULL_HASH, BlockHash, hash_from_hex, hash_to_hex

WHOLE_ROW = 0xFFFFFFFF
"""The index of a cursor behind all events of a row, however many there are."""

_PATTERN = re.compile(
    r"([0-9a-f]{16}):(\d{1,18})\.(\d{1,10}):(-1|\d{1,10}):([0-9a-f]{64})"
    r"(?::(\d{1,10}(?:\.\d{1,10})*))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the log, behind event (`seq`, `index`). `block_hash` is in internal order; (0, …) is the log's start.

    `grown`: the last index of each growing range of the subscriber, in the order of his request.
    """

    log: str
    seq: int
    index: int
    height: int
    block_hash: BlockHash
    grown: tuple[int, ...] = ()

    @property
    def is_whole_row(self) -> bool:
        """Whether it stands behind all events of its row."""
        return self.index == WHOLE_ROW

    def __str__(self) -> str:
        text = f"{self.log}:{self.seq}.{self.index}:{self.height}:{hash_to_hex(self.block_hash)}"
        return f"{text}:{'.'.join(map(str, self.grown))}" if self.grown else text


def parse_cursor(text: str) -> Cursor:
    """Return the cursor that `str(cursor)` gave. Raises StreamError `bad-cursor`."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise StreamError("bad-cursor", "not a cursor of this node: send back what an event's `cursor` or `id` said")
    log, seq, index, height, block_hash, ends = match.groups()
    grown = tuple(map(int, ends.split("."))) if ends else ()
    return Cursor(log, int(seq), int(index), int(height), BlockHash(hash_from_hex(block_hash)), grown)


def log_start(log_id: str) -> Cursor:
    """Return the cursor in front of a log's first row."""
    return Cursor(log_id, 0, WHOLE_ROW, -1, BlockHash(NULL_HASH))


def cursor_at(log_id: str, row: EventRow, index: int = WHOLE_ROW) -> Cursor:
    """Return the cursor behind one event of a row, by default behind the whole row."""
    return Cursor(log_id, row.seq, index, row.height, row.block_hash)
