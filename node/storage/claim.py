"""The right to write a PostgreSQL schema: one node at a time, and the proof that nobody wrote in between.

Owns: advisory locks, and the mark that every transaction leaves. Never: a connection, or the chain's data.

The server ties a lock to a session. A session that broke may have taken its lock along, and another node may have
written since; it may also have committed what it was asked to last, unheard. The mark tells all three cases apart.
"""

import hashlib
import secrets

from sqlalchemy.engine import Connection

from clarion.node.errors import StorageError

_LOCK_NAMES = {"chain": "clarion writer", "coins": "clarion coins writer"}
_SESSION = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start::text = %s "
    "AND pid <> pg_backend_pid()"
)


class WriterClaim:
    """What one writer knows of its session: its lock, and the mark of its last transaction."""

    def __init__(self, name: str, component: str, meta_table: str) -> None:
        self._name = name
        self._lock_name = _LOCK_NAMES.get(component, f"clarion {component} writer")
        self._session: tuple[int, str] | None = None
        self._mark = b""
        self._read_mark = f"SELECT value FROM {meta_table} WHERE key = 'last_write'"
        self._set_mark = (
            f"INSERT INTO {meta_table} (key, value) VALUES ('last_write', %b) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        )

    def acquire(self, connection: Connection) -> bool:
        """Take the lock for the connection's session; whether it was free."""
        execute = connection.exec_driver_sql
        (schema,) = execute("SELECT current_schema()").one()
        key = int.from_bytes(hashlib.sha256(f"{self._lock_name} {schema}".encode()).digest()[:8], "big", signed=True)
        (granted,) = execute("SELECT pg_try_advisory_lock(%s)", (key,)).one()
        if granted:
            pid, started = execute(_SESSION).one()
            self._session = (pid, started)
        return bool(granted)

    def begin(self, connection: Connection) -> None:
        """Start to leave marks, after the lock is taken and the tables are there."""
        self.settle(self.leave_mark(connection))

    def leave_mark(self, connection: Connection) -> bytes:
        """Write a new mark as the last statement of a transaction and return it."""
        mark = secrets.token_bytes(8)
        connection.exec_driver_sql(self._set_mark, (mark,))
        return mark

    def settle(self, mark: bytes) -> None:
        """Take note that the transaction which left `mark` is committed."""
        self._mark = mark

    def end_old_session(self, connection: Connection) -> None:
        """End the session that held the lock before, if the server has not noticed yet that it is dead."""
        if self._session is not None:
            connection.exec_driver_sql(_END, self._session)

    def was_committed(self, connection: Connection, doubtful: bytes | None) -> bool:
        """Whether the transaction that left `doubtful` is stored. Raises StorageError if another node has written."""
        row = connection.exec_driver_sql(self._read_mark).first()
        stored = None if row is None else bytes(row[0])
        if doubtful is not None and stored == doubtful:
            return True
        if stored != self._mark:
            raise StorageError(f"{self._name}: another node has written to this database; this one can't go on")
        return False
