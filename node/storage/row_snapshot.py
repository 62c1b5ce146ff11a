"""Read transactions for short answers: every statement sees the same state, and rows come as the driver gives them.

Owns: beginning and ending them. Never: statements.

SQLAlchemy's way to one row of SQLite takes five times as long as SQLite itself, and a small answer is a few rows.
"""

import time
from types import TracebackType
from typing import Any, Protocol

from sqlalchemy import Engine

from clarion.node.storage.engine import BEGAN, driver_sql, snapshot
from clarion.node.storage.faults import driver_errors, failure
from clarion.node.storage.location import Location

Row = tuple[Any, ...]


class RowSnapshot(Protocol):
    """A context manager that returns itself. Raises StorageError, also for what fails inside of it."""

    def __enter__(self) -> "RowSnapshot": ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def rows(self, statement: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
        """Return the rows of a statement, which has `?` for its parameters."""
        ...


def row_snapshot(engine: Engine, location: Location, what: str) -> RowSnapshot:
    """Return a read transaction of a reader engine; `what` names the database in errors."""
    return _SqliteRows(engine, what) if location.is_sqlite else _ServerRows(engine, location, what)


class _SqliteRows:
    """One on a connection of the engine's pool, past SQLAlchemy."""

    def __init__(self, engine: Engine, what: str) -> None:
        self._engine = engine
        self._what = what
        self._raw: Any = None

    def __enter__(self) -> "_SqliteRows":
        try:
            self._pooled = self._engine.raw_connection()
            self._raw = self._pooled.driver_connection
            self._pooled.info[BEGAN] = time.monotonic()
            self._raw.execute("BEGIN")
        except driver_errors() as error:
            raise failure(self._what, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The pool ends the transaction of a connection that comes back.
        self._pooled.close()
        if isinstance(error, driver_errors()):
            raise failure(self._what, error) from error

    def rows(self, statement: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
        found: list[Row] = self._raw.execute(statement, parameters).fetchall()
        return found


class _ServerRows:
    """One of SQLAlchemy's: beside the way to a server its own time does not count."""

    def __init__(self, engine: Engine, location: Location, what: str) -> None:
        self._location = location
        self._opened = snapshot(engine, what)

    def __enter__(self) -> "_ServerRows":
        self._connection = self._opened.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)

    def rows(self, statement: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
        done = self._connection.exec_driver_sql(driver_sql(self._location, statement), parameters)
        return [tuple(row) for row in done]
