"""Where the coins of a loaded snapshot are until they take the place of the ordinary ones.

Owns: a folder of its own for SQLite, a schema of its own on PostgreSQL; making, opening, removing it, and moving the coins
to where the ordinary ones were. Never: which coins are the active chain's.

A coins database there is one like any other, so all statements about coins serve it too.
"""

import contextlib
import logging
import shutil
from dataclasses import replace

from sqlalchemy.engine import Connection

from clarion.node.errors import ConfigError, StorageError
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.checkpointer import Checkpointer
from clarion.node.storage.claim import WriterClaim
from clarion.node.storage.coin_store import CoinReader, CoinStore
from clarion.node.storage.engine import reader_engine, writer_engine
from clarion.node.storage.faults import Patience
from clarion.node.storage.flat_files import sync_folder
from clarion.node.storage.location import Backend, Location
from clarion.node.storage.migrate import COINS, Network, prepare
from clarion.node.storage.writer import Writer

logger = logging.getLogger(__name__)

SUFFIX = "_snapshot"
BASE_FILE = "base_blockhash"
"""Names the block, for people and for the reference's tools; the chain database is what counts."""

_TABLES = (*COINS.tables, COINS.version_table)
_NAME_BYTES = 63


def snapshot_location(location: Location, schema: str) -> Location:
    """Return the place for the coins of a snapshot beside a database. `schema` is its PostgreSQL schema."""
    if location.backend is Backend.POSTGRESQL:
        name = f"{schema}{SUFFIX}"
        if len(name.encode()) > _NAME_BYTES:
            raise ConfigError(f"The name of the schema {schema} is too long for one of a snapshot beside it")
        return replace(location, schema=name)
    folder = location.folder.with_name(location.folder.name + SUFFIX)
    return replace(location, folder=folder, memory_name=location.memory_name + SUFFIX)


class SnapshotPlace:
    """The place beside one database."""

    def __init__(
        self, main: Location, schema: str, network: Network, store_id: bytes, patience: Patience, writer: Writer
    ) -> None:
        """`writer` writes the ordinary coins, and on PostgreSQL makes and drops the schema."""
        self.location = snapshot_location(main, schema)
        self._main_schema = schema
        self._network = network
        self._store_id = store_id
        self._patience = patience
        self._main_writer = writer
        self._open = contextlib.ExitStack()

    @property
    def name(self) -> str:
        """How messages name it."""
        name = self.location.describe(COINS.name)
        return f"{name} (schema {self.location.schema})" if self.location.schema else name

    @property
    def exists(self) -> bool:
        """Whether there is something in it."""
        if self.location.backend is Backend.SQLITE_MEMORY:
            return False
        if self.location.backend is Backend.SQLITE_FILE:
            return self.location.folder.exists()
        return bool(self._main_writer.read(lambda connection: _tables_in(connection, self.location.schema)))

    def named_base(self) -> bytes | None:
        """Return the hash of the block that the folder names, None where it names none."""
        try:
            return (self.location.folder / BASE_FILE).read_bytes()[:32]
        except OSError:
            return None

    def name_base(self, block_hash: BlockHash) -> None:
        """Write down, for people, which block the coins belong to. Raises StorageError."""
        if self.location.backend is not Backend.SQLITE_FILE:
            return
        try:
            (self.location.folder / BASE_FILE).write_bytes(block_hash)
            sync_folder(self.location.folder)
            sync_folder(self.location.folder.parent)
        except OSError as error:
            raise StorageError(f"{self.location.folder}: {error.strerror}") from error

    def create(self) -> CoinStore:
        """Make it empty and open it. Raises StorageError."""
        self.remove()
        try:
            if self.location.backend is Backend.SQLITE_FILE:
                self.location.folder.mkdir()
            elif self.location.schema:
                self._main_writer.run(
                    lambda connection: _execute(connection, f'CREATE SCHEMA "{self.location.schema}"')
                )
            return self.open()
        except ConfigError as error:
            raise StorageError(str(error)) from error
        except OSError as error:
            raise StorageError(f"{self.location.folder}: {error.strerror}") from error

    def open(self) -> CoinStore:
        """Open what is there. `close` closes it. Raises ConfigError, StorageError."""
        name = self.name
        claim = None if self.location.is_sqlite else WriterClaim(name, COINS.name, COINS.meta_table)
        with contextlib.ExitStack() as stack:
            writer = Writer(writer_engine(self.location, COINS.name), name, self._patience, claim)
            stack.callback(writer.close)
            writer.claim()
            if self.location.backend is Backend.SQLITE_FILE:
                writer.checkpointer = Checkpointer(self.location.folder / f"{COINS.name}.sqlite")
            with writer.transaction() as connection:
                prepare(connection, COINS, self.location, self._network, self._store_id)
            writer.begin_marks()
            readers = reader_engine(self.location, COINS.name)
            stack.callback(readers.dispose)
            self._open = stack.pop_all()
        return CoinStore(writer, CoinReader(readers, self.location, self._patience), self.location)

    def close(self) -> None:
        """Close what `open` or `create` opened."""
        self._open.close()

    def remove(self) -> None:
        """Close it and remove what is there. Raises StorageError."""
        self.close()
        if self.location.backend is Backend.SQLITE_FILE:
            try:
                shutil.rmtree(self.location.folder, ignore_errors=False)
            except FileNotFoundError:
                return
            except OSError as error:
                raise StorageError(f"{self.location.folder}: {error.strerror}") from error
        elif self.location.schema:
            self._main_writer.run(lambda connection: _drop_schema(connection, self.location.schema))

    def set_aside(self) -> None:
        """Keep it under another name, for those who look for the fault, in place of an older one. Raises StorageError."""
        self.close()
        if not self.exists:
            return
        if self.location.backend is Backend.SQLITE_FILE:
            folder = self.location.folder
            target = folder.with_name(f"{folder.name}_INVALID")
            try:
                shutil.rmtree(target, ignore_errors=True)
                folder.rename(target)
            except OSError as error:
                raise StorageError(f"{folder}: {error.strerror}") from error
        else:
            schema, target_name = self.location.schema, f"{self.location.schema}_invalid"[:_NAME_BYTES]

            def rename(connection: Connection) -> None:
                _drop_schema(connection, target_name)
                _execute(connection, f'ALTER SCHEMA "{schema}" RENAME TO "{target_name}"')

            self._main_writer.run(rename)

    def move_tables(self) -> None:
        """On PostgreSQL: let the tables take the place of the ordinary ones, in one transaction. Raises StorageError."""

        schema, main = self.location.schema, self._main_schema
        with self._main_writer.transaction() as connection:
            if _tables_in(connection, schema) >= set(_TABLES):
                logger.info("[snapshot] cleaning up unneeded background chainstate, then reinitializing")
                for table in _TABLES:
                    _execute(connection, f'DROP TABLE IF EXISTS "{main}".{table}')
                    _execute(connection, f'ALTER TABLE "{schema}".{table} SET SCHEMA "{main}"')
                _execute(connection, f'DROP SCHEMA "{schema}"')


def _tables_in(connection: Connection, schema: str) -> set[str]:
    rows = connection.exec_driver_sql("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,))
    return {str(name) for (name,) in rows}


def _drop_schema(connection: Connection, schema: str) -> None:
    """Drop a schema of ours. Tables of others in it keep it, and are an error."""
    found = connection.exec_driver_sql("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).first()
    if found is None:
        return
    for table in _TABLES:
        _execute(connection, f'DROP TABLE IF EXISTS "{schema}".{table}')
    _execute(connection, f'DROP SCHEMA "{schema}"')


def _execute(connection: Connection, statement: str) -> None:
    connection.exec_driver_sql(statement)
