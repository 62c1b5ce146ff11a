"""Silence in initial download, for subscribers who want news only.

Owns: which rows it holds back. Never: reading pages.
"""

from collections.abc import Sequence
from typing import Protocol

from clarion.node.events.row import EventKind, EventRow, read_tip_body

_AHEAD_ROWS = 64


class Rows(Protocol):
    """The event log, as far as the gate needs it."""

    def read(self, after_seq: int, limit: int) -> Sequence[EventRow]:
        """Return at most `limit` rows numbered above `after_seq`, in order."""


class SyncGate:
    """Holds back the blocks of each step of the chain that was made in initial download, and its new tip.

    Whether a step was, is said by the row that ends it. Rows of the mempool pass. Use it for one stream, on one thread.
    """

    def __init__(self, log: Rows) -> None:
        self._log = log
        self._step_end = 0
        self._is_open = True

    def lets_pass(self, row: EventRow) -> bool:
        """Whether the row is to be told. Raises StorageError."""
        if row.kind not in _CHAIN_KINDS:
            return True
        if row.seq > self._step_end:
            self._look_ahead(row)
        return self._is_open

    def _look_ahead(self, row: EventRow) -> None:
        """Find the end of the step that begins with `row`. A step without an end, which a crash may leave, passes."""
        rows: Sequence[EventRow] = [row]
        while rows:
            for each in rows:
                if each.kind is EventKind.TIP_CHANGED:
                    self._step_end, self._is_open = each.seq, not read_tip_body(each.body)[1]
                    return
            rows = self._log.read(rows[-1].seq, _AHEAD_ROWS)
        self._step_end, self._is_open = row.seq, True


_CHAIN_KINDS = frozenset((EventKind.BLOCK_CONNECTED, EventKind.BLOCK_DISCONNECTED, EventKind.TIP_CHANGED))
