"""Retention: rows of the mempool leave the event log when they are old; rows of the chain stay for good.

Owns: which rows go, a few at a time. Never: when it is run, the tip commit, which never waits for more than one step.
"""

from typing import Any

from sqlalchemy.engine import Connection

from clarion.node.storage.engine import driver_sql
from clarion.node.storage.event_log import FLOOR_KEY
from clarion.node.storage.location import Location
from clarion.node.storage.writer import Writer

ROWS_A_STEP = 500
"""Rows that one transaction looks at: a few milliseconds."""

_FIRST_MEMPOOL_KIND = 4
_SPAN = "SELECT seq, kind, time FROM event_log WHERE seq > ? AND seq < ? ORDER BY seq LIMIT ?"
_DELETE = f"DELETE FROM event_log WHERE seq > ? AND seq <= ? AND kind >= {_FIRST_MEMPOOL_KIND}"
_FLOOR = "SELECT value FROM meta WHERE key = ?"
_SET_FLOOR = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"


class Retention:
    """Deletes old rows of the mempool from the bottom of the log upward. Use it on one thread at a time."""

    def __init__(self, writer: Writer, location: Location) -> None:
        self._writer = writer
        self._span = driver_sql(location, _SPAN)
        self._delete = driver_sql(location, _DELETE)
        self._floor = driver_sql(location, _FLOOR)
        self._set_floor = driver_sql(location, _SET_FLOOR)

    def step(self, before: int, last_seq: int) -> bool:
        """Delete what is older than `before` (Unix seconds) among the next rows; whether there may be more.

        Rows from `last_seq` on stay: the log's last number must never be given out again. Raises StorageError.
        """
        return self._writer.run(lambda connection: self._work(connection, before, last_seq))

    def _work(self, connection: Connection, before: int, last_seq: int) -> bool:
        execute = connection.exec_driver_sql
        row = execute(self._floor, (FLOOR_KEY,)).first()
        floor = 0 if row is None else int(bytes(row[0]))
        rows = execute(self._span, (floor, last_seq, ROWS_A_STEP)).all()
        old = _leading_old(rows, before)
        if not old:
            return False
        top = int(old[-1][0])
        execute(self._delete, (floor, top))
        execute(self._set_floor, (FLOOR_KEY, str(top).encode()))
        return len(old) == ROWS_A_STEP


def _leading_old(rows: Any, before: int) -> list[Any]:
    """Return the rows in front of the first one that is to be kept for its age."""
    old = []
    for row in rows:
        if row[2] >= before:
            break
        old.append(row)
    return old
