"""What goes wrong below the stores: how it is worded, what passes by itself, and how long that is waited for.

Owns: reading the drivers' errors, and the pauses between attempts. Never: what is attempted.
"""

import logging
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from clarion.node.errors import StorageError

logger = logging.getLogger(__name__)

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 1.0

# Classes and codes of SQLSTATE after which the same work may succeed: a connection lost, a server that stops, starts or
# is full of clients, and transactions that the server sacrificed for others.
_PASSING_STATES = ("08", "57P01", "57P02", "57P03", "57P05", "53300", "25P03", "40001", "40P01")


def driver_errors() -> tuple[type[Exception], ...]:
    """Return every class of error that SQLAlchemy and the loaded drivers raise, for an `except`."""
    psycopg: Any = sys.modules.get("psycopg")
    return (SQLAlchemyError, sqlite3.Error, *([psycopg.Error] if psycopg is not None else []))


_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_DELETE = "delete it, with its -wal and -shm"
_REPAIRS = {
    "chain.sqlite": "Please restart with -reindex to recover.",
    "coins.sqlite": "Please restart with -reindex-chainstate or -reindex to recover.",
    "lanes.sqlite": f"Bring it back from a backup, or {_DELETE}: the lanes start anew then, without their dead letters.",
    "watches.sqlite": f"Bring it back from a backup, or {_DELETE}: the watches must be defined again then.",
}
_REPAIR_OF_INDEX = f"To have it built again, {_DELETE}."
INDEX_FOLDER = "indexes"
"""Where the files of indexes lie, in the chain's directory."""


def is_damage(error: BaseException) -> bool:
    """Whether SQLite says that the file's contents are not what it wrote: not that they can't be reached."""
    code = getattr(_cause(error), "sqlite_errorcode", 0)
    # The lower byte is the kind, the rest its variety.
    return (code & 0xFF) in _DAMAGE


def repair_advice(name: str) -> str:
    """Return what ends a message about a damaged file: a full stop and how to repair it; empty for an unknown one."""
    path = PurePath(name)
    advice = _REPAIRS.get(path.name, _REPAIR_OF_INDEX if path.parent.name == INDEX_FOLDER else "")
    return advice and f". {advice}"


def failure(name: str, error: BaseException) -> StorageError:
    """Return the error that names the database, what its driver says, and what repairs it if it is damaged."""
    return StorageError(f"{name}: {first_line(error)}{repair_advice(name) if is_damage(error) else ''}")


def first_line(error: BaseException) -> str:
    """Return what the driver says, on one line and without the statement; SQLite's errors with their name."""
    cause = _cause(error)
    lines = str(cause).strip().splitlines()
    text = lines[0] if lines else type(cause).__name__
    name = getattr(cause, "sqlite_errorname", "SQLITE_ERROR")
    return text if name == "SQLITE_ERROR" else f"{text} ({name})"


def is_passing(error: BaseException) -> bool:
    """Whether the server, not the work, is at fault, so that the work may be tried again on a new connection."""
    cause = _cause(error)
    if isinstance(cause, sqlite3.Error):
        return False
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    state: str | None = getattr(cause, "sqlstate", None)
    if state is not None:
        return state.startswith(_PASSING_STATES)
    # The driver itself found the connection broken, or could not make one.
    return isinstance(error, OperationalError) or type(cause).__name__ == "OperationalError"


def _cause(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Turn errors of SQLAlchemy and the drivers into StorageError, with `what` in front."""
    try:
        yield
    except driver_errors() as error:
        raise failure(what, error) from error


class Patience:
    """How long work on a server that went away is tried again. Shared by all that one process does there."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._changed = threading.Condition()

    def shorten(self, limit_s: float) -> None:
        """From now on, wait no longer than this; who waits already counts from the start of its outage."""
        with self._changed:
            self._limit_s = min(self._limit_s, limit_s)
            self._changed.notify_all()

    def pause(self, started: float, seconds: float) -> bool:
        """Sleep, or until the time is up; whether another attempt is due in an outage that began at `started`."""
        wake = time.monotonic() + seconds
        with self._changed:
            while (now := time.monotonic()) < wake and now - started < self._limit_s:
                self._changed.wait(min(wake - now, started + self._limit_s - now))
            return time.monotonic() - started < self._limit_s


class Outage:
    """One piece of work's failures in a row. Make one before the first attempt; it costs nothing until one fails."""

    def __init__(self, name: str, patience: Patience) -> None:
        self._name = name
        self._patience = patience
        self._started: float | None = None
        self._pause_s = _FIRST_PAUSE_S

    def wait(self, error: Exception) -> None:
        """Sleep until the next attempt. Raises StorageError for a fault that does not pass, or has not in time."""
        failed = failure(self._name, error)
        if not is_passing(error):
            raise failed from error
        if self._started is None:
            self._started = time.monotonic()
            logger.error("%s; trying again", failed)
        else:
            logger.debug("%s; still trying", failed)
        if not self._patience.pause(self._started, self._pause_s):
            raise failed from error
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    def end(self) -> None:
        """Say that the work is done, if it ever failed."""
        if self._started is not None:
            logger.warning("%s: works again after %.1f s", self._name, time.monotonic() - self._started)
