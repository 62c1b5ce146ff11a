"""Folds a SQLite write-ahead log into its file, on a thread of its own.

Owns: when that happens, and that the log stays small. Never: a transaction.

Without it the transaction that fills the log up would do the work, some hundred milliseconds in which a tip waits.
"""

import contextlib
import logging
import os
import sqlite3
import threading
from pathlib import Path

from sqlalchemy.engine import Connection

from clarion.node.storage.faults import first_line

logger = logging.getLogger(__name__)

ROWS = 1_000
"""Rows changed after which the log is folded; each has touched about one page."""
RESTART_BYTES = 256 << 20
"""Size of the log above which it must start anew, for which readers of its old part are waited for."""
HOLD_BACK_BYTES = 1 << 30
"""Size of the log above which the next transaction waits for it to be folded."""
_HOLD_BACK_S = 30.0
_READERS_S = 5.0
_RETRY_S = 1.0


class Checkpointer:
    """The thread. `path` is the database's; it must be in WAL mode with `wal_autocheckpoint` 0."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wal = Path(f"{path}-wal")
        self._rows_done = 0
        self._asked = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=f"checkpoint-{path.stem}", daemon=True)
        self._thread.start()

    def committed(self, connection: Connection) -> None:
        """Take note of a commit on the writer's connection."""
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        if raw.total_changes - self._rows_done >= ROWS:
            self._rows_done = raw.total_changes
            self._idle.clear()
            self._asked.set()

    def hold_back(self) -> None:
        """Wait, before a transaction, while the log is too long and being folded. Readers can make that take long."""
        if not self._idle.is_set() and self.log_bytes > HOLD_BACK_BYTES:
            self._idle.wait(_HOLD_BACK_S)

    @property
    def log_bytes(self) -> int:
        """Size of the log's file."""
        try:
            return self._wal.stat().st_size
        except OSError:
            return 0

    def make_durable(self) -> None:
        """Bring every commit so far to the disk, whatever `synchronous` says. Raises OSError."""
        # SQLite locks the database's file and the index of the log, never the log: it may be opened and closed here.
        with contextlib.suppress(FileNotFoundError):
            fd = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def close(self) -> None:
        """End the thread, after the fold at hand. The last connection that closes folds the rest."""
        self._closing = True
        self._asked.set()
        self._thread.join()

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        while True:
            self._asked.wait()
            self._asked.clear()
            if self._closing:
                break
            try:
                if connection is None:
                    connection = sqlite3.connect(self._path, timeout=_READERS_S, isolation_level=None)
                complete = self._fold(connection)
            except sqlite3.Error as error:
                logger.warning("%s: the write-ahead log can't be folded now: %s", self._path, first_line(error))
                complete = False
            if not self._asked.is_set():
                self._idle.set()
            if not complete and not self._closing and not self._asked.wait(_RETRY_S):
                self._asked.set()
        if connection is not None:
            connection.close()

    def _fold(self, connection: sqlite3.Connection) -> bool:
        """Fold what no reader holds back; whether that was all."""
        _, pages, folded = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if folded == pages and self.log_bytes > RESTART_BYTES:
            # Readers that follow each other without a gap would keep the log from starting anew, for ever.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return bool(folded == pages)
