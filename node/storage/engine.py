"""Engines and connections: how each database is opened, for writing and for reading.

Owns: pragmas, session settings, transactions and the translation of driver errors. Never: a table's name.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from clarion.node.errors import ConfigError, StorageError
from clarion.node.storage.location import Backend, Location

APPLICATION_ID = 0x436C726E
"""Marks our SQLite files (`PRAGMA application_id`)."""

BUSY_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 10
READER_POOL_SIZE = {Backend.SQLITE_FILE: 16, Backend.SQLITE_MEMORY: 16, Backend.POSTGRESQL: 4}
"""Connections that one process keeps for reading a database; as many more come and go. A server allows few."""

# The tip must survive a power cut; coins may lose their last flushes, which recovery repeats.
_SQLITE_SYNCHRONOUS = {"chain": "FULL", "coins": "NORMAL"}
_SQLITE_CACHE_KIB = {"chain": 8_192, "coins": 65_536}
_WAL_LIMIT_BYTES = 64 * 1024 * 1024

_POSTGRES_SETTINGS = ("synchronous_commit = on", "timezone = 'UTC'")
# The planner takes a table for its own kind of join or scan once a list of keys grows long; every access to the coins
# is by key, and an index scan per key is several times faster.
_POSTGRES_COINS_SETTINGS = (
    "random_page_cost = 1.1",
    "enable_seqscan = off",
    "enable_hashjoin = off",
    "enable_mergejoin = off",
)


def writer_engine(location: Location, component: str) -> Engine:
    """Return an engine for the single writer of one database (`chain` or `coins`), which is created if missing."""
    engine = _create(location, component, create=True)
    if location.is_sqlite:
        # IMMEDIATE takes the write lock at once, so that no transaction fails half-way for want of it.
        _begin_with(engine, "BEGIN IMMEDIATE")
    return engine


def reader_engine(location: Location, component: str) -> Engine:
    """Return an engine whose transactions are consistent snapshots and can't write."""
    engine = _create(location, component, create=False)
    if location.is_sqlite:
        # The driver sends no BEGIN before a SELECT: without one each statement would see another state.
        _begin_with(engine, "BEGIN")
    return engine


def _create(location: Location, component: str, *, create: bool) -> Engine:
    pool_size, overflow = (1, 0) if create else (READER_POOL_SIZE[location.backend],) * 2
    if location.url is not None:
        return _create_postgres(location, component, pool_size, overflow, read_only=not create)
    return create_engine(
        "sqlite://",
        creator=lambda: _open_sqlite(location, component, create),
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=overflow,
    )


def _open_sqlite(location: Location, component: str, create: bool) -> sqlite3.Connection:
    if location.backend is Backend.SQLITE_MEMORY:
        uri = f"file:/clarion-{location.memory_name}-{component}?vfs=memdb"
    else:
        path = (location.folder / f"{component}.sqlite").absolute()
        uri = f"{path.as_uri()}?mode={'rwc' if create else 'rw'}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        connection.execute(f"PRAGMA cache_size = -{_SQLITE_CACHE_KIB[component]}")
        if create:
            _claim(connection, location.describe(component))
        else:
            connection.execute("PRAGMA query_only = ON")
        if create and location.backend is Backend.SQLITE_FILE:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {_SQLITE_SYNCHRONOUS[component]}")
            connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _claim(connection: sqlite3.Connection, name: str) -> None:
    # Before anything is changed: the file may be another program's.
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == APPLICATION_ID:
        return
    if application or connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise ConfigError(f"{name} is a database of another program (application id {application:#x})")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _begin_with(engine: Engine, statement: str) -> None:
    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(statement)


def _create_postgres(location: Location, component: str, pool_size: int, overflow: int, *, read_only: bool) -> Engine:
    assert location.url is not None
    engine = create_engine(
        location.url,
        pool_size=pool_size,
        max_overflow=overflow,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S, "application_name": f"clarion-{component}"},
        isolation_level="REPEATABLE READ" if read_only else "READ COMMITTED",
    )
    settings = _POSTGRES_SETTINGS + (_POSTGRES_COINS_SETTINGS if component == "coins" else ())

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _record: Any) -> None:
        with connection.cursor() as cursor:
            for setting in settings:
                cursor.execute(f"SET {setting}")
        connection.commit()
        connection.read_only = read_only

    return engine


def driver_sql(location: Location, statement: str) -> str:
    """Return a statement with `?` for its parameters in the form that the driver wants."""
    return statement if location.is_sqlite else statement.replace("?", "%s")


def first_line(error: BaseException) -> str:
    """Return what the driver says, on one line and without the statement."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Turn errors of SQLAlchemy and the drivers into StorageError, with `what` in front."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise StorageError(f"{what}: {first_line(error)}") from error


@contextmanager
def snapshot(engine: Engine, what: str) -> Iterator[Connection]:
    """A read transaction of a reader engine: every statement sees the same state. Raises StorageError."""
    with storage_errors(what), engine.connect() as connection, connection.begin():
        yield connection


class Writer:
    """The one connection that writes a database. Safe to use from several threads: transactions queue up.

    A connection that is lost stays lost: with it went the lock that kept other nodes away, so this store must be opened
    anew before it writes again.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        self._engine = engine
        self._lock = threading.Lock()
        self._lost = False
        try:
            self._connection = engine.connect()
        except (SQLAlchemyError, sqlite3.Error) as error:
            engine.dispose()
            raise ConfigError(f"Cannot open the database {name}: {first_line(error)}") from error

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction: committed at the end of the block, rolled back if it raises. Raises StorageError."""
        with self._lock:
            if self._lost:
                raise StorageError(f"{self.name}: the connection was lost")
            try:
                with self._connection.begin():
                    yield self._connection
            except (SQLAlchemyError, sqlite3.Error) as error:
                self._lost = self._connection.invalidated
                raise StorageError(f"{self.name}: {first_line(error)}") from error

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._lost = True
            self._connection.close()
            self._engine.dispose()
