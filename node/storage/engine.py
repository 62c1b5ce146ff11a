"""Engines and connections: how each database is opened, for writing and for reading.

Owns: pragmas, session settings and read transactions. Never: a table's name.
"""

import math
import os
import select
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import QueuePool

from clarion.node.errors import ConfigError
from clarion.node.storage.faults import Outage, Patience, driver_errors, storage_errors
from clarion.node.storage.location import Backend, Location

APPLICATION_ID = 0x436C726E
"""Marks our SQLite files (`PRAGMA application_id`)."""

BUSY_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 10
READER_POOL_SIZE = {Backend.SQLITE_FILE: 16, Backend.SQLITE_MEMORY: 16, Backend.POSTGRESQL: 4}
"""Connections that one process keeps for reading a database; as many more come and go. A server allows few."""

# The tip must survive a power cut; coins may lose their last flushes, which recovery repeats, and indexes theirs.
_SQLITE_SYNCHRONOUS = {"chain": "FULL"}
_SQLITE_WRITER_CACHE_KIB = {"chain": 8_192, "coins": 65_536}
_SQLITE_INDEX_CACHE_KIB = 16_384
_SQLITE_READER_CACHE_KIB = 4_096
# Pages come straight from the system's cache: a third less time for a fetch among millions of coins. The address space
# is reserved, not used, and a file that outgrows it is read as before.
_SQLITE_MMAP_BYTES = 64 << 30
_WAL_KEPT_BYTES = 64 << 20

READER_LOG_BYTES = 2 << 30
"""A reader older than READER_AGE_S is ended once the write-ahead log, which can't be folded under it, is this long."""
READER_AGE_S = 60.0
_READER_CHECK_STEPS = 200_000
BEGAN = "began"
"""Key of a pooled connection's notes: when its transaction began, by `time.monotonic()`."""

READER_PATIENCE = Patience(5.0)
"""How long a read waits for a server that is away; clients wait behind it."""

_POSTGRES_SETTINGS = ("synchronous_commit = on", "timezone = 'UTC'")
# A read transaction that its process forgot would keep the server from clearing dead rows away.
_POSTGRES_READER_SETTINGS = ("idle_in_transaction_session_timeout = '10min'",)
# A server's machine that vanished without a word must be noticed in a minute or so, not in hours.
_POSTGRES_CONNECT = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
# The planner takes a table for its own kind of join or scan once a list of keys grows long; every access to the coins
# is by key, and an index scan per key is several times faster.
_POSTGRES_COINS_SETTINGS = (
    "random_page_cost = 1.1",
    "enable_seqscan = off",
    "enable_hashjoin = off",
    "enable_mergejoin = off",
)


def page_cache_bytes(location: Location, component: str) -> int:
    """Return the size of the page cache that the writer of a database has in this process; a server keeps its own."""
    return _writer_cache_kib(component) << 10 if location.is_sqlite else 0


def _writer_cache_kib(component: str) -> int:
    return _SQLITE_WRITER_CACHE_KIB.get(component, _SQLITE_INDEX_CACHE_KIB)


def writer_engine(location: Location, component: str) -> Engine:
    """Return an engine for the single writer of one database (`chain`, `coins` or an index), which is created if missing."""
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
    if location.backend is Backend.SQLITE_FILE:
        _limit_age(engine, os.fspath(location.folder / f"{component}.sqlite-wal"))
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
        if create:
            _claim(connection, location.describe(component))
        in_file = location.backend is Backend.SQLITE_FILE
        pragmas = _writer_pragmas(component, in_file) if create else _READER_PRAGMAS
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
    except (sqlite3.Error, ConfigError):
        connection.close()
        raise
    return connection


_READER_PRAGMAS = (
    "query_only = ON",
    f"cache_size = -{_SQLITE_READER_CACHE_KIB}",
    f"mmap_size = {_SQLITE_MMAP_BYTES}",
)


def _writer_pragmas(component: str, in_file: bool) -> list[str]:
    pragmas = [f"cache_size = -{_writer_cache_kib(component)}", "temp_store = MEMORY"]
    if in_file:
        pragmas += [
            "journal_mode = WAL",
            f"synchronous = {_SQLITE_SYNCHRONOUS.get(component, 'NORMAL')}",
            f"journal_size_limit = {_WAL_KEPT_BYTES}",
            # The checkpointer's thread does that.
            "wal_autocheckpoint = 0",
            f"mmap_size = {_SQLITE_MMAP_BYTES}",
        ]
    return pragmas


def _claim(connection: sqlite3.Connection, name: str) -> None:
    # Before anything is changed: the file may be another program's.
    if not is_claimed(connection, name):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def is_claimed(connection: sqlite3.Connection, name: str) -> bool:
    """Whether a file is marked as Clarion's; False for an empty one. Raises ConfigError if it is another program's."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == APPLICATION_ID:
        return True
    if application or connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise ConfigError(f"{name} is a database of another program (application id {application:#x})")
    return False


def _begin_with(engine: Engine, statement: str) -> None:
    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(statement)


def _limit_age(engine: Engine, log: str) -> None:
    """End a transaction that is old and has made the write-ahead log grow too long."""

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.info[BEGAN] = time.monotonic()

    @event.listens_for(engine, "connect")
    def connect(raw: sqlite3.Connection, record: Any) -> None:
        def must_end() -> bool:
            if time.monotonic() - record.info.get(BEGAN, math.inf) < READER_AGE_S:
                return False
            return os.path.exists(log) and os.stat(log).st_size > READER_LOG_BYTES

        raw.set_progress_handler(must_end, _READER_CHECK_STEPS)


def _create_postgres(location: Location, component: str, pool_size: int, overflow: int, *, read_only: bool) -> Engine:
    assert location.url is not None
    engine = create_engine(
        location.url,
        pool_size=pool_size,
        max_overflow=overflow,
        connect_args={**_POSTGRES_CONNECT, "application_name": f"clarion-{component}"},
        isolation_level="REPEATABLE READ" if read_only else "READ COMMITTED",
    )
    settings = _POSTGRES_SETTINGS + (_POSTGRES_COINS_SETTINGS if component == "coins" else ())
    if location.schema:
        settings += (f'search_path = "{location.schema}"',)
    if read_only:
        settings += _POSTGRES_READER_SETTINGS
        _drop_dead_connections(engine)

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _record: Any) -> None:
        with connection.cursor() as cursor:
            for setting in settings:
                cursor.execute(f"SET {setting}")
        connection.commit()
        connection.read_only = read_only

    return engine


def _drop_dead_connections(engine: Engine) -> None:
    """Make the pool replace all its connections once one is handed out whose server has hung up.

    A server says nothing on an idle connection unless it closes it, so this costs no round trip.
    """

    @event.listens_for(engine, "checkout")
    def checkout(raw: Any, _record: Any, _proxy: Any) -> None:
        poll = select.poll()
        poll.register(raw.pgconn.socket, select.POLLIN)
        if poll.poll(0):
            raise InvalidatePoolError("the server has closed the connection")


def driver_sql(location: Location, statement: str) -> str:
    """Return a statement with `?` for its parameters in the form that the driver wants."""
    return statement if location.is_sqlite else statement.replace("?", "%s")


@contextmanager
def snapshot(engine: Engine, what: str, patience: Patience = READER_PATIENCE) -> Iterator[Connection]:
    """A read transaction of a reader engine: every statement sees the same state. Raises StorageError.

    Waits for a server that is away as long as `patience` says; one that goes away later is an error.
    """
    with storage_errors(what), _connect(engine, what, patience) as connection, connection.begin():
        yield connection


def _connect(engine: Engine, what: str, patience: Patience) -> Connection:
    outage = Outage(what, patience)
    while True:
        try:
            connection = engine.connect()
        except driver_errors() as error:
            outage.wait(error)
        else:
            outage.end()
            return connection
