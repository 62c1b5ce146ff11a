"""Depth: blocks are told when they are so many blocks deep, and disconnected only if they were told.

Owns: which block a row lets be told. Never: expanding rows, cursors of clients.
"""

from clarion.node.events.row import EventKind, EventRow
from clarion.node.storage.event_log import EventLog


class Confirmations:
    """Follows the log's rows about blocks for one subscriber with `min_conf` above 1. Not thread-safe.

    `_told` is the highest block of the chain so far that is deep enough; it never follows a tip downward unless the
    block itself goes, so what was told once is not told again after a small reorganisation.
    """

    def __init__(self, log: EventLog, min_conf: int) -> None:
        self._log = log
        self._back = min_conf - 1
        self._told: int | None = None

    def begin(self, height: int, seq: int) -> None:
        """Start behind row `seq`, where the chain's height is `height`: what was told by then follows from the log."""
        base = max(0, height - self._back)
        connected = [
            row for row in self._log.block_rows(base) if row.kind is EventKind.BLOCK_CONNECTED and row.seq <= seq
        ]
        # The chain has held this block ever since: from there on the rows tell the rest, whatever was told before.
        self._told = base - self._back
        for row in self._log.block_rows_from(base, connected[-1].seq if connected else 0, seq):
            self._follow(row)

    def rows_to_tell(self, row: EventRow) -> EventRow | None:
        """Return the row about a block that is to be told because of `row`, None if there is none yet."""
        height = self._follow(row)
        if height is None or height == row.height:
            return None if height is None else row
        connected = [each for each in self._log.block_rows(height) if each.kind is EventKind.BLOCK_CONNECTED]
        before = [each for each in connected if each.seq < row.seq]
        return before[-1] if before else None

    def _follow(self, row: EventRow) -> int | None:
        """Take a row in and return the height of the block that is to be told."""
        assert self._told is not None, "begin() comes first"
        if row.kind is EventKind.BLOCK_CONNECTED:
            if row.height - self._back <= self._told:
                return None
            self._told = row.height - self._back
            return self._told if self._told >= 0 else None
        if row.height > self._told:
            return None
        self._told = row.height - 1
        return row.height
