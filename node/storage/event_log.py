"""The event log's reader.

Owns: reading rows by number, in any process. Never: writing (the tip commit does that), or what a row expands to.
"""

from sqlalchemy import Engine

from clarion.node.events.row import EventKind, EventRow
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.engine import driver_sql, snapshot
from clarion.node.storage.location import Location

_READ = (
    "SELECT seq, kind, block_hash, height, txid, reason, body, time FROM event_log WHERE seq > ? ORDER BY seq LIMIT ?"
)


class EventLog:
    """Reads the log. Each call is a snapshot of its own: rows appear only when their tip commit is durable."""

    def __init__(self, engine: Engine, location: Location, log_id: str) -> None:
        self.log_id = log_id
        """16 hex digits that name this log; a new log has a new id."""
        self._engine = engine
        self._name = location.describe("chain")
        self._read = driver_sql(location, _READ)

    def last_seq(self) -> int:
        """Return the number of the last row, 0 for an empty log."""
        with snapshot(self._engine, self._name) as connection:
            (last,) = connection.exec_driver_sql("SELECT COALESCE(MAX(seq), 0) FROM event_log").one()
        return int(last)

    def read(self, after_seq: int, limit: int) -> list[EventRow]:
        """Return at most `limit` rows numbered above `after_seq`, in order."""
        with snapshot(self._engine, self._name) as connection:
            rows = connection.exec_driver_sql(self._read, (after_seq, limit)).all()
        return [
            EventRow(EventKind(kind), BlockHash(block_hash), height, time, body, seq, txid, reason)
            for seq, kind, block_hash, height, txid, reason, body, time in rows
        ]
