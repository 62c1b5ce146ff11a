"""Opens everything that a node writes in SQL, and sees to it that only one node does.

Owns: the order of opening, the writer's locks, closing. Never: a statement about the chain's data.
"""

import contextlib
from pathlib import Path

from clarion.node.errors import ConfigError, StorageError
from clarion.node.storage.chain_store import ChainStore
from clarion.node.storage.checkpointer import Checkpointer
from clarion.node.storage.claim import WriterClaim
from clarion.node.storage.coin_store import CoinReader, CoinStore
from clarion.node.storage.directory_lock import DirectoryLock, lock_directory
from clarion.node.storage.engine import driver_sql, reader_engine, writer_engine
from clarion.node.storage.event_log import FLOOR_KEY, EventLog
from clarion.node.storage.faults import Patience
from clarion.node.storage.index_store import IndexReader, IndexStore, open_index_store
from clarion.node.storage.location import Backend, Location, locate
from clarion.node.storage.mending import mend_files
from clarion.node.storage.migrate import CHAIN, COINS, Component, Network, new_id, prepare, read_meta
from clarion.node.storage.rebuild_step import REBUILD_KEY, Rebuild
from clarion.node.storage.retention import Retention
from clarion.node.storage.rows import ChainCommit
from clarion.node.storage.snapshot_move import move_validated
from clarion.node.storage.snapshot_place import SnapshotPlace
from clarion.node.storage.snapshot_record import (
    RELINK_KEY,
    SNAPSHOT_KEY,
    SnapshotRecord,
    SnapshotState,
    decode_record,
)
from clarion.node.storage.undo_files import UndoFiles
from clarion.node.storage.writer import Writer

PATIENCE_S = 600.0
"""How long the node waits for a server that went away, in seconds, before it stops."""


class Database:
    """The open databases of a node. Use as a context manager or call `close`."""

    def __init__(
        self,
        location: Location,
        chain_dir: Path,
        chain: Writer,
        coins: Writer,
        place: SnapshotPlace,
        patience: Patience,
        cleanup: contextlib.ExitStack,
    ) -> None:
        self._chain_dir = chain_dir
        self._cleanup = cleanup
        self._patience = patience
        self._coins_writer = coins
        self._chain_writer = chain
        self._location = location
        chain_readers = reader_engine(location, CHAIN.name)
        coin_readers = reader_engine(location, COINS.name)
        # Readers close first: the writer, closing last, folds the write-ahead log into its file.
        cleanup.callback(chain_readers.dispose)
        cleanup.callback(coin_readers.dispose)
        with chain.transaction() as connection:
            meta = read_meta(connection, CHAIN)
        self.snapshot = place
        cleanup.callback(place.close)
        self.log_id = meta["log_id"].decode()
        self._store_id = meta["store_id"]
        self.chain = ChainStore(chain, location)
        self.coins = CoinStore(coins, CoinReader(coin_readers, location, patience), location)
        self.events = EventLog(chain_readers, location, self.log_id)
        self.retention = Retention(chain, location)

    @property
    def name(self) -> str:
        """How messages name the chain's database; without a password."""
        return self._location.describe(CHAIN.name)

    def begin_rebuild(self, *, keep_blocks: bool) -> None:
        """Forget the active chain, the event log (a new one begins, with a new id) and, unless kept, the block index.

        What is left to be wiped is done by `finish_wipe`, also after a crash. Raises StorageError.
        """
        log_id = new_id()
        step = Rebuild.WIPE_CHAINSTATE if keep_blocks else Rebuild.WIPE_ALL
        meta = {"log_id": log_id, FLOOR_KEY: b"0", REBUILD_KEY: step.value}
        if self.snapshot_record() is not None:
            meta |= {SNAPSHOT_KEY: b"", RELINK_KEY: b"1" if keep_blocks else b""}
        self.chain.wipe(keep_blocks=keep_blocks, meta=meta)
        self.log_id = self.events.log_id = log_id.decode()

    def snapshot_record(self) -> SnapshotRecord | None:
        """Return what is known of a snapshot that the chain started from."""
        return decode_record(self.chain.read_meta(SNAPSHOT_KEY))

    def rebuild_step(self) -> Rebuild:
        """Return which step of a rebuild is next."""
        return Rebuild(self.chain.read_meta(REBUILD_KEY) or b"")

    def finish_wipe(self, undo_files: UndoFiles) -> None:
        """Wipe the coins and the undo files of the chain that was forgotten, if that is the next step."""
        step = self.rebuild_step()
        following = {Rebuild.WIPE_ALL: Rebuild.INDEX, Rebuild.WIPE_CHAINSTATE: Rebuild.CONNECT}.get(step)
        if following is None:
            return
        self.coins.wipe()
        undo_files.remove_all()
        self.chain.commit(ChainCommit(meta={REBUILD_KEY: following.value}))

    def open_index(self, name: str, network: Network, kept: bytes = b"") -> IndexStore:
        """Open (or make) the database of an index of this chain; the caller closes it. Raises ConfigError.

        Keys that begin with `kept` outlive a reindex.
        """
        return open_index_store(
            self._location,
            self._chain_dir,
            name,
            network,
            self._store_id,
            self._patience,
            kept,
            rebuild=self.rebuild_step() is not Rebuild.NONE,
        )

    def index_reader(self, name: str) -> IndexReader:
        """Return a reader of an index that is open; it is closed with the database."""
        reader = IndexReader(self._location, self._chain_dir, name)
        self._cleanup.callback(reader.close)
        return reader

    def shorten_patience(self, seconds: float) -> None:
        """Wait no longer than this for a server that is away: for a node that is asked to stop."""
        self._patience.shorten(seconds)

    def close(self) -> None:
        """Close all connections and give the lock free."""
        self._cleanup.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_database(
    url: str | None,
    chain_dir: Path,
    network: Network,
    *,
    lock: DirectoryLock | None = None,
    rebuild: Rebuild = Rebuild.NONE,
    blocks_dir: Path | None = None,
) -> Database:
    """Open (create, migrate) the databases that `-database=` names for a node that writes them.

    `chain_dir` is the network's data directory. Its `.lock` is taken unless the caller hands over `lock`, which it then
    releases itself. `rebuild`: what the caller is about to begin, WIPE_ALL or WIPE_CHAINSTATE, for which SQLite files that
    are damaged or lack their pair are thrown away if there are block files in `blocks_dir` (where it is given). Raises ConfigError, in one line, for whatever does not allow the node to start.
    """
    location = locate(url, chain_dir)
    with contextlib.ExitStack() as stack:
        if location.backend is not Backend.SQLITE_MEMORY:
            _make_folders(location, chain_dir)
            if lock is None:
                stack.callback(lock_directory(chain_dir).release)
        try:
            moved = False
            if location.backend is Backend.SQLITE_FILE:
                moved = move_validated(location)
                mend_files(location, network, rebuild, blocks_dir)
            patience = Patience(PATIENCE_S)
            chain = _open_writer(location, CHAIN, patience, stack)
            # A server's locks are all taken before anything is written: a node that is refused has changed nothing.
            coins = None if location.is_sqlite else _open_writer(location, COINS, patience, stack)
            store_id = _prepare(chain, CHAIN, location, network, new_id(), rebuild)
            coins = coins or _open_writer(location, COINS, patience, stack)
            place = SnapshotPlace(location, _schema(chain, location), network, store_id, patience, coins)
            if not location.is_sqlite and _is_validated(chain):
                place.move_tables()
                moved = True
            _prepare(coins, COINS, location, network, store_id)
            database = Database(location, chain_dir, chain, coins, place, patience, stack)
            if moved:
                database.chain.commit(ChainCommit(meta={SNAPSHOT_KEY: b""}))
        except StorageError as error:
            raise ConfigError(f"Cannot open the database {error}") from error
        database._cleanup = stack.pop_all()
        return database


def _schema(writer: Writer, location: Location) -> str:
    """Return the PostgreSQL schema that the tables are in, empty for SQLite."""
    if location.is_sqlite:
        return ""
    with writer.transaction() as connection:
        return str(connection.exec_driver_sql("SELECT current_schema()").scalar_one())


def _is_validated(chain: Writer) -> bool:
    """Whether the history below a snapshot has been validated, so that its coins may take the ordinary ones' place."""
    with chain.transaction() as connection:
        record = decode_record(read_meta(connection, CHAIN).get(SNAPSHOT_KEY))
    return record is not None and record.state is SnapshotState.VALIDATED


def _make_folders(location: Location, chain_dir: Path) -> None:
    for folder in {chain_dir, location.folder}:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"Cannot create the directory {folder}: {error.strerror}") from None


def _open_writer(location: Location, component: Component, patience: Patience, stack: contextlib.ExitStack) -> Writer:
    name = location.describe(component.name)
    claim = None if location.is_sqlite else WriterClaim(name, component.name, component.meta_table)
    writer = Writer(writer_engine(location, component.name), name, patience, claim)
    stack.callback(writer.close)
    writer.claim()
    if location.backend is Backend.SQLITE_FILE:
        writer.checkpointer = Checkpointer(location.folder / f"{component.name}.sqlite")
    return writer


def _prepare(
    writer: Writer,
    component: Component,
    location: Location,
    network: Network,
    store_id: bytes,
    rebuild: Rebuild = Rebuild.NONE,
) -> bytes:
    with writer.transaction() as connection:
        is_new = prepare(connection, component, location, network, store_id)
        if is_new and rebuild is Rebuild.WIPE_ALL:
            # A node that is killed before it begins must not take the block files for rubbish behind an empty index.
            statement = driver_sql(location, f"INSERT INTO {component.meta_table} (key, value) VALUES (?, ?)")
            connection.exec_driver_sql(statement, (REBUILD_KEY, rebuild.value))
        store_id = read_meta(connection, component)["store_id"]
    writer.begin_marks()
    return store_id
