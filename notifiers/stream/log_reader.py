"""Reading the event log for one subscriber after the other, from wherever each of them is.

Owns: where a stream starts, pages of events behind a cursor, and what is said when that can't be. Never: sockets,
waiting for news.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from clarion.node.errors import StreamError
from clarion.node.events.cursor import WHOLE_ROW, Cursor, cursor_at, log_start, parse_cursor
from clarion.node.events.encoding import needs_spent
from clarion.node.events.events import TxConfirmed, TxUnconfirmed
from clarion.node.events.expand import MEMPOOL_EVENTS, expand_row, needs_block, row_event_types
from clarion.node.events.row import EventKind, EventRow
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.chain_reader import ChainReader
from clarion.notifiers.stream.confirmations import Confirmations
from clarion.notifiers.stream.filters import EventFilter, EventType, StreamEvent
from clarion.notifiers.stream.stored_blocks import StoredBlocks
from clarion.notifiers.stream.sync_gate import SyncGate

_IN_BLOCKS = frozenset((TxConfirmed, TxUnconfirmed))
ROWS_A_PAGE = 256
EVENTS_A_PAGE = 2000
_HEIGHT_DIGITS = 9
"""Of the highest height that there may be."""


@dataclass(frozen=True, slots=True)
class Page:
    """Events behind a cursor. `cursor` is where the next page begins; `is_last` says that the log had no more rows."""

    events: list[StreamEvent] = field(default_factory=list)
    cursor: Cursor | None = None
    is_last: bool = False


class LogReader:
    """Reads for any number of subscribers. Thread-safe."""

    def __init__(self, reader: ChainReader) -> None:
        self._reader = reader
        self._log = reader.events
        self.log_id = reader.events.log_id
        self.blocks = StoredBlocks(reader)

    # --- where a stream starts --------------------------------------------------------------------------------------

    def start(self, text: str) -> Cursor:
        """Return the cursor that `now`, `start`, `height:N` or a cursor means. Raises StreamError.

        Codes: `bad-cursor`, `other-log`, `unknown-cursor`, `pruned`, `no-such-height`.
        """
        if text == "now":
            return self.now()
        if text == "start":
            return log_start(self.log_id)
        if text.startswith("height:"):
            return self._at_height(text.removeprefix("height:"))
        cursor = parse_cursor(text)
        self._check(cursor)
        return cursor

    def now(self) -> Cursor:
        """Return the cursor behind the log's last row."""
        return self.behind_row(self._log.last_seq())

    def behind_row(self, seq: int) -> Cursor:
        """Return the cursor behind a row that is still there; the log's start for 0."""
        rows = self._log.read(seq - 1, 1) if seq else []
        return cursor_at(self.log_id, rows[-1]) if rows else log_start(self.log_id)

    def last_seq(self) -> int:
        """Return the number of the log's last row."""
        return self._log.last_seq()

    def rows(self, after_seq: int, limit: int) -> list[EventRow]:
        """Return at most `limit` rows of the log numbered above `after_seq`, in order."""
        return self._log.read(after_seq, limit)

    def mempool_floor(self) -> int:
        """Return the number up to which rows of the mempool may be missing; 0 if all are there."""
        return self._log.mempool_floor()

    def gap(self, cursor: Cursor, wanted: EventFilter) -> int:
        """Return the row up to which events of the mempool behind `cursor` may be gone; 0 if none is missing."""
        if not wanted.types & MEMPOOL_EVENTS:
            return 0
        floor = self._log.mempool_floor()
        return floor if floor > cursor.seq else 0

    def undo(self, cursor: Cursor) -> dict[str, object] | None:
        """Return what a client at `cursor` has to undo, None if its block is in the active chain.

        `fork_height` and `fork_hash` are those of the last block that is still there, `undo` the hashes from the
        cursor's block down to the fork, without it.
        """
        with self._reader.snapshot() as view:
            row = view.block(cursor.block_hash)
            if row is None or view.is_active(row):
                return None
            fork = view.fork(row)
            gone = view.ancestors(row, row.height - fork.height)
        return {
            "fork_height": fork.height,
            "fork_hash": hash_to_hex(fork.hash),
            "undo": [hash_to_hex(each.hash) for each in gone],
        }

    def _at_height(self, text: str) -> Cursor:
        if not text.isascii() or not text.isdigit():
            raise StreamError("bad-cursor", "height:N needs a number")
        height = int(text) if len(text) <= _HEIGHT_DIGITS else 10**_HEIGHT_DIGITS
        with self._reader.snapshot() as view:
            block_hash = view.hash_at(height)
            if block_hash is None:
                raise StreamError("no-such-height", f"the chain's height is {view.height()}", tip_height=view.height())
        lowest = self.blocks.lowest_height()
        if height < lowest:
            message = f"blocks below height {lowest} are pruned"
            raise StreamError("pruned", message, height=height, lowest_height=lowest)
        # Behind the row that connected the block of today's chain for the last time, nothing at or below it is undone.
        for row in reversed(self._log.block_rows(height)):
            if row.kind is EventKind.BLOCK_CONNECTED and row.block_hash == block_hash:
                return self._in_front_of(row)
        if height == 0:
            return log_start(self.log_id)
        raise StreamError("pruned", f"the log does not tell of height {height}", height=height, lowest_height=lowest)

    def _in_front_of(self, row: EventRow) -> Cursor:
        if row.seq == 1:
            return log_start(self.log_id)
        before = self._log.read(row.seq - 2, 1)[0]
        # Retention may have deleted the row before: then the cursor names this row's block, and is not compared.
        return Cursor(self.log_id, row.seq - 1, WHOLE_ROW, before.height, before.block_hash)

    def _check(self, cursor: Cursor) -> None:
        if cursor.log != self.log_id:
            raise StreamError(
                "other-log",
                "the cursor is of another log: this one began anew, with a reindex or another database",
                log=self.log_id,
            )
        if cursor.seq == 0:
            return
        rows = self._log.read(cursor.seq - 1, 1)
        if not rows:
            raise StreamError("unknown-cursor", "the log does not reach so far: it was restored from an older copy")
        row = rows[0]
        # A row of the mempool that retention has deleted can't be compared, and leaves nothing of itself to tell.
        if row.seq == cursor.seq and (row.block_hash, row.height) != (cursor.block_hash, cursor.height):
            raise StreamError("unknown-cursor", "the log says something else there: it was restored from an older copy")

    # --- pages ------------------------------------------------------------------------------------------------------

    def page(
        self,
        cursor: Cursor,
        wanted: EventFilter,
        details: frozenset[str] = frozenset(),
        depth: Confirmations | None = None,
        *,
        last_seq: int | None = None,
        gate: SyncGate | None = None,
    ) -> Page:
        """Return the next events that pass the filter: a few thousand at most, unless one row has more.

        `depth` is what `depth()` returned for the stream's first cursor, kept for all its pages. Rows above `last_seq`
        are left for later, rows that `gate` holds back are left out. Raises StreamError `cursor-too-old`, StorageError.
        """
        after = cursor.seq if cursor.index == WHOLE_ROW else cursor.seq - 1
        rows = self._log.read(after, ROWS_A_PAGE)
        is_last = len(rows) < ROWS_A_PAGE
        found: list[StreamEvent] = []
        for row in rows:
            if last_seq is not None and row.seq > last_seq:
                return Page(found, cursor, True)
            skip = cursor.index if row.seq == cursor.seq else -1
            told = row if depth is None or not needs_block(row.kind) else depth.rows_to_tell(row)
            if told is not None and (gate is None or gate.lets_pass(row)):
                found += self._accepted(told, row, wanted, details, skip)
            cursor = wanted.mark(cursor_at(self.log_id, row))
            if len(found) >= EVENTS_A_PAGE:
                return Page(found, cursor, is_last and row is rows[-1])
        return Page(found, cursor, is_last)

    def _accepted(
        self, told: EventRow, cause: EventRow, wanted: EventFilter, details: frozenset[str], skip: int
    ) -> list[StreamEvent]:
        """Return the events of row `told` behind index `skip` that pass."""
        try:
            events = self.expand(told, wanted.types, wanted.needs_spent, details, cause)
            found = (each for each in events if each.cursor.index > skip and wanted.accepts(each))
            # Each with the growth up to it: a window grows while it is asked.
            return [each.at(wanted.mark(each.cursor)) for each in found] if wanted.windows else list(found)
        except StreamError as error:
            raise StreamError("cursor-too-old", error.message, **error.details) from None

    def gate(self) -> SyncGate:
        """Return what `page` needs for a stream that is silent in initial download."""
        return SyncGate(self._log)

    def depth(self, cursor: Cursor, wanted: EventFilter) -> Confirmations | None:
        """Return what `page` needs for a filter with `min_conf` above 1, None for another."""
        if wanted.min_conf == 1:
            return None
        depth = Confirmations(self._log, wanted.min_conf)
        rows = self._log.read(cursor.seq - 1, 1)
        kind = rows[0].kind if rows and rows[0].seq == cursor.seq else EventKind.TIP_CHANGED
        if cursor.index == WHOLE_ROW:
            depth.begin(cursor.height - (kind is EventKind.BLOCK_DISCONNECTED), cursor.seq)
        else:
            # The row will be told again, in part: what counts is the depth in front of it.
            depth.begin(cursor.height - (kind is EventKind.BLOCK_CONNECTED), cursor.seq - 1)
        return depth

    def expand(
        self,
        row: EventRow,
        types: frozenset[EventType],
        with_spent: bool,
        details: frozenset[str] = frozenset(),
        cause: EventRow | None = None,
    ) -> Iterator[StreamEvent]:
        """Yield the events of one row that are of these types.

        `cause` is the row that lets it be told, itself by default: cursors are its. Raises StreamError `pruned`,
        StorageError.
        """
        cause = cause or row
        types = types & row_event_types(row.kind)
        if not types:
            return
        block = self.blocks.block(row.block_hash) if needs_block(row.kind) else None
        spends = (with_spent and bool(types & _IN_BLOCKS)) or any(needs_spent(each, details) for each in types)
        spent = self.blocks.spent(row.block_hash) if block is not None and spends else None
        for event in expand_row(row, self.log_id, block, types):
            at = event.position if isinstance(event, TxConfirmed | TxUnconfirmed) else None
            cursor = cursor_at(self.log_id, cause, event.id.index)
            yield StreamEvent(event, cursor, spent[at] if spent is not None and at is not None else None)
