"""The event log's reader.

Owns: reading rows, in any process. Never: writing (the tip commit and the retention do that), or what a row expands to.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.engine import Connection

from clarion.node.events.row import EventKind, EventRow
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.engine import driver_sql, snapshot
from clarion.node.storage.location import Location

FLOOR_KEY = "mempool_floor"
"""Setting of the chain database: rows of the mempool with numbers up to this one may have been deleted."""

_COLUMNS = "seq, kind, block_hash, height, txid, reason, body, time"
_READ = f"SELECT {_COLUMNS} FROM event_log WHERE seq > ? ORDER BY seq LIMIT ?"
_BLOCK_ROWS = f"SELECT {_COLUMNS} FROM event_log WHERE kind <= 2 AND height = ? ORDER BY seq"
_BLOCKS_FROM = (
    f"SELECT {_COLUMNS} FROM event_log WHERE kind <= 2 AND height >= ? AND seq >= ? AND seq <= ? ORDER BY seq"
)
# A block's row expands to its transactions and the block; one row tells of all transactions that left for a block.
_BEHIND = (
    "SELECT COUNT(*) + COALESCE(SUM(blocks.tx_count), 0) + COALESCE(SUM(CASE WHEN event_log.kind = 5 AND "
    "event_log.txid IS NULL THEN length(event_log.body) / 40 - 1 ELSE 0 END), 0), MIN(event_log.time) FROM event_log "
    "LEFT JOIN blocks ON event_log.kind <= 2 AND blocks.hash = event_log.block_hash WHERE event_log.seq > ?"
)
_FLOOR = "SELECT value FROM meta WHERE key = ?"


class EventLog:
    """Reads the log. Each call is a snapshot of its own: rows appear only when their tip commit is durable."""

    def __init__(self, engine: Engine, location: Location, log_id: str) -> None:
        self.log_id = log_id
        """16 hex digits that name this log; a new log has a new id."""
        self._engine = engine
        self._name = location.describe("chain")
        self._read = driver_sql(location, _READ)
        self._block_rows = driver_sql(location, _BLOCK_ROWS)
        self._blocks_from = driver_sql(location, _BLOCKS_FROM)
        self._floor = driver_sql(location, _FLOOR)
        self._behind = driver_sql(location, _BEHIND)

    def last_seq(self) -> int:
        """Return the number of the last row, 0 for an empty log."""
        with snapshot(self._engine, self._name) as connection:
            (last,) = connection.exec_driver_sql("SELECT COALESCE(MAX(seq), 0) FROM event_log").one()
        return int(last)

    def read(self, after_seq: int, limit: int) -> list[EventRow]:
        """Return at most `limit` rows numbered above `after_seq`, in order."""
        return self._rows(self._read, (after_seq, limit))

    def block_rows(self, height: int) -> list[EventRow]:
        """Return all rows about blocks of one height, in order."""
        return self._rows(self._block_rows, (height,))

    def block_rows_from(self, height: int, first_seq: int, last_seq: int) -> list[EventRow]:
        """Return the rows about blocks of a height or above it, numbered from `first_seq` to `last_seq`, in order."""
        return self._rows(self._blocks_from, (height, first_seq, last_seq))

    def behind(self, seq: int) -> tuple[int, int | None]:
        """Return how many events the rows above a number expand to, and when the oldest was logged (None without any)."""
        with snapshot(self._engine, self._name) as connection:
            events, oldest = connection.exec_driver_sql(self._behind, (seq,)).one()
        return int(events), None if oldest is None else int(oldest)

    def mempool_floor(self) -> int:
        """Return the number up to which rows of the mempool may be missing; 0 if all are there."""
        with snapshot(self._engine, self._name) as connection:
            row = connection.exec_driver_sql(self._floor, (FLOOR_KEY,)).first()
        return 0 if row is None else int(bytes(row[0]))

    def _rows(self, statement: str, parameters: tuple[Any, ...]) -> list[EventRow]:
        with snapshot(self._engine, self._name) as connection:
            return _as_rows(_fetch(connection, statement, parameters))


def _fetch(connection: Connection, statement: str, parameters: tuple[Any, ...]) -> Sequence[Sequence[Any]]:
    return connection.exec_driver_sql(statement, parameters).all()


def _as_rows(rows: Sequence[Sequence[Any]]) -> list[EventRow]:
    return [
        EventRow(EventKind(kind), BlockHash(block_hash), height, time, body, seq, txid, reason)
        for seq, kind, block_hash, height, txid, reason, body, time in rows
    ]
