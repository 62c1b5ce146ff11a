"""Databases of the optional indexes: keys and values as bytes, and the block that they stand at.

Owns: opening one (a SQLite file each, or tables of its own on a server), its transactions, and reading it. Never: what
keys and values mean. All of it can be built again from the blocks, so a database that does not fit is emptied.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine
from sqlalchemy.engine import Connection

from clarion.node.errors import ConfigError, StorageError
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.checkpointer import Checkpointer
from clarion.node.storage.claim import WriterClaim
from clarion.node.storage.engine import READER_PATIENCE, driver_sql, reader_engine, snapshot, writer_engine
from clarion.node.storage.faults import INDEX_FOLDER, Patience
from clarion.node.storage.location import Backend, Location
from clarion.node.storage.mending import mend_index
from clarion.node.storage.migrate import Network
from clarion.node.storage.writer import Writer

SCHEMA_VERSION = b"1"
_FETCH_KEYS = 500


class IndexTip(NamedTuple):
    """The last block that an index holds."""

    hash: BlockHash
    height: int


class IndexTables:
    """Where one index is kept. `name` is lower-case letters and digits."""

    def __init__(self, location: Location, chain_dir: Path, name: str) -> None:
        """`location` is the chain's; SQLite files go to `<chain_dir>/indexes`."""
        folder = chain_dir / INDEX_FOLDER
        self.location = Location(location.backend, folder, location.memory_name, location.url)
        self.component = name if location.backend is Backend.SQLITE_FILE else f"index-{name}"
        self.entries = f"index_{name}"
        self.meta = f"index_{name}_meta"
        self.name = self.location.describe(self.component)

    def sql(self, statement: str) -> str:
        """Return a statement with the tables' names, and its parameters as the driver wants them."""
        return driver_sql(self.location, statement.format(entries=self.entries, meta=self.meta))


class IndexSnapshot:
    """An index as one read transaction sees it."""

    def __init__(self, connection: Connection, tables: IndexTables) -> None:
        self._execute = connection.exec_driver_sql
        self._tables = tables

    def tip(self) -> IndexTip | None:
        """Return the last block that is indexed, None in an empty index."""
        row = self._execute(self._tables.sql("SELECT value FROM {meta} WHERE key = 'tip'")).first()
        return None if row is None else _decode_tip(bytes(row[0]))

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key."""
        row = self._execute(self._tables.sql("SELECT value FROM {entries} WHERE key = ?"), (key,)).first()
        return None if row is None else bytes(row[0])

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of those of the keys that exist."""
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _FETCH_KEYS):
            part = tuple(keys[start : start + _FETCH_KEYS])
            marks = ", ".join("?" * len(part))
            rows = self._execute(self._tables.sql(f"SELECT key, value FROM {{entries}} WHERE key IN ({marks})"), part)
            found.update((bytes(key), bytes(value)) for key, value in rows)
        return found

    def range(self, start: bytes, stop: bytes, limit: int, *, backward: bool = False) -> list[tuple[bytes, bytes]]:
        """Return at most `limit` keys from `start` on and below `stop` with their values, by key."""
        order = "DESC" if backward else "ASC"
        statement = f"SELECT key, value FROM {{entries}} WHERE key >= ? AND key < ? ORDER BY key {order} LIMIT ?"
        rows = self._execute(self._tables.sql(statement), (start, stop, limit))
        return [(bytes(key), bytes(value)) for key, value in rows]

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield every key with its value, by key."""
        for key, value in self._execute(self._tables.sql("SELECT key, value FROM {entries} ORDER BY key")):
            yield bytes(key), bytes(value)


class IndexReader:
    """Reads an index that a node keeps, in any process and thread."""

    def __init__(self, location: Location, chain_dir: Path, name: str) -> None:
        self._tables = IndexTables(location, chain_dir, name)
        self._engine: Engine = reader_engine(self._tables.location, self._tables.component)

    @contextmanager
    def snapshot(self, patience: Patience = READER_PATIENCE) -> Iterator[IndexSnapshot]:
        """A consistent view. Raises StorageError."""
        with snapshot(self._engine, self._tables.name, patience) as connection:
            yield IndexSnapshot(connection, self._tables)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


class IndexStore:
    """The only writer of an index. Used by one thread; readers never wait for it."""

    def __init__(self, writer: Writer, tables: IndexTables, kept: bytes = b"") -> None:
        """Keys that begin with `kept`, if that is not empty, are what no chain can give back: wiping leaves them."""
        self._kept = kept
        self._writer = writer
        self._tables = tables
        in_sqlite = tables.location.is_sqlite
        self._put = tables.sql(_PUT_ROWS if in_sqlite else _PUT_ARRAYS)
        self._delete = tables.sql(_DELETE_ROW if in_sqlite else _DELETE_ARRAY)
        self._by_rows = in_sqlite

    def tip(self) -> IndexTip | None:
        """Return the last block that is indexed, None in an empty index."""
        return self._writer.read(lambda connection: IndexSnapshot(connection, self._tables).tip())

    def get(self, key: bytes) -> bytes | None:
        """Return the stored value of a key."""
        return self._writer.read(lambda connection: IndexSnapshot(connection, self._tables).get(key))

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored values of those of the keys that exist."""
        return self._writer.read(lambda connection: IndexSnapshot(connection, self._tables).get_many(keys))

    def range(self, start: bytes, stop: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Return at most `limit` stored keys from `start` on and below `stop` with their values, by key."""
        return self._writer.read(lambda connection: IndexSnapshot(connection, self._tables).range(start, stop, limit))

    def commit(self, changes: Mapping[bytes, bytes | None], tip: IndexTip | None) -> None:
        """Store values, delete the keys whose value is None, and set the tip, in one transaction. Raises StorageError."""
        puts = sorted((key, value) for key, value in changes.items() if value is not None)
        deletes = sorted(key for key, value in changes.items() if value is None)

        def write(connection: Connection) -> None:
            execute = connection.exec_driver_sql
            if deletes:
                execute(self._delete, [(key,) for key in deletes] if self._by_rows else (deletes,))
            if puts:
                execute(self._put, puts if self._by_rows else ([key for key, _ in puts], [value for _, value in puts]))
            if tip is None:
                execute(self._tables.sql("DELETE FROM {meta} WHERE key = 'tip'"))
            else:
                execute(self._tables.sql(_SET_META), ("tip", _encode_tip(tip)))

        self._writer.run(write)

    def wipe(self) -> None:
        """Forget everything but what is kept. Raises StorageError."""

        def empty(connection: Connection) -> None:
            _delete_all_but(connection, self._tables, self._kept)
            connection.exec_driver_sql(self._tables.sql("DELETE FROM {meta} WHERE key = 'tip'"))

        self._writer.run(empty)

    def make_durable(self) -> None:
        """Return once every commit so far outlives a power cut. Raises StorageError."""
        self._writer.make_durable()

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


_PUT_ROWS = "INSERT INTO {entries} (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_PUT_ARRAYS = (
    "INSERT INTO {entries} (key, value) SELECT * FROM unnest(?::bytea[], ?::bytea[]) "
    "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
_DELETE_ROW = "DELETE FROM {entries} WHERE key = ?"
_DELETE_ARRAY = "DELETE FROM {entries} WHERE key = ANY(?::bytea[])"
_SET_META = "INSERT INTO {meta} (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"


def open_index_store(
    location: Location,
    chain_dir: Path,
    name: str,
    network: Network,
    store_id: bytes,
    patience: Patience,
    kept: bytes = b"",
    *,
    rebuild: bool = False,
) -> IndexStore:
    """Open (or make) an index of the chain database `store_id`. The database's own lock must be held.

    An index of another chain, or of another version of its tables, is emptied; keys that begin with `kept` stay if
    only the chain's database is another (after a reindex). With `rebuild` a damaged file goes, unless it may hold such keys.
    Raises ConfigError.
    """
    tables = IndexTables(location, chain_dir, name)
    if location.backend is Backend.SQLITE_FILE:
        try:
            tables.location.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"Cannot create the directory {tables.location.folder}: {error.strerror}") from None
        if rebuild and not kept:
            mend_index(tables.location, tables.component)
    claim = None if location.is_sqlite else WriterClaim(tables.name, tables.component, tables.meta)
    writer = Writer(writer_engine(tables.location, tables.component), tables.name, patience, claim)
    try:
        writer.claim()
        identity = {
            "version": SCHEMA_VERSION,
            "network": network.name.encode(),
            "magic": network.magic,
            "store_id": store_id,
        }
        with writer.transaction() as connection:
            _prepare(connection, tables, identity, kept)
        writer.begin_marks()
    except StorageError as error:
        writer.close()
        raise ConfigError(f"Cannot open the database {error}") from error
    except ConfigError:
        writer.close()
        raise
    if location.backend is Backend.SQLITE_FILE:
        writer.checkpointer = Checkpointer(tables.location.folder / f"{tables.component}.sqlite")
    return IndexStore(writer, tables, kept)


def _prepare(connection: Connection, tables: IndexTables, identity: Mapping[str, bytes], kept: bytes) -> None:
    execute = connection.exec_driver_sql
    blob, tail = ("BLOB", " WITHOUT ROWID") if tables.location.is_sqlite else ("BYTEA", "")
    execute(tables.sql(f"CREATE TABLE IF NOT EXISTS {{meta}} (key TEXT PRIMARY KEY, value {blob} NOT NULL){tail}"))
    found = {key: bytes(value) for key, value in execute(tables.sql("SELECT key, value FROM {meta}"))}
    changed = {key for key, value in identity.items() if found.get(key) != value}
    if changed:
        if kept and changed == {"store_id"}:
            _delete_all_but(connection, tables, kept)
        else:
            execute(tables.sql("DROP TABLE IF EXISTS {entries}"))
        execute(tables.sql("DELETE FROM {meta}"))
        execute(tables.sql(_SET_META), list(identity.items()))
    execute(tables.sql(f"CREATE TABLE IF NOT EXISTS {{entries}} (key {blob} PRIMARY KEY, value {blob} NOT NULL){tail}"))


def _delete_all_but(connection: Connection, tables: IndexTables, kept: bytes) -> None:
    if not kept:
        connection.exec_driver_sql(tables.sql("DELETE FROM {entries}"))
        return
    end = kept[:-1] + bytes((kept[-1] + 1,))
    connection.exec_driver_sql(tables.sql("DELETE FROM {entries} WHERE key < ? OR key >= ?"), (kept, end))


def _encode_tip(tip: IndexTip) -> bytes:
    return tip.height.to_bytes(4, "big") + tip.hash


def _decode_tip(value: bytes) -> IndexTip:
    return IndexTip(BlockHash(value[4:]), int.from_bytes(value[:4], "big"))
