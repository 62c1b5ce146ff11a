"""Which coins are the active chain's, for those who only read: the ordinary ones, or those of a snapshot.

Owns: looking it up for each answer. Never: writing.
"""

import threading

from sqlalchemy import Engine

from clarion.node.storage.coin_store import CoinReader
from clarion.node.storage.engine import driver_sql, reader_engine, snapshot
from clarion.node.storage.location import Location
from clarion.node.storage.migrate import CHAIN, COINS
from clarion.node.storage.snapshot_place import snapshot_location
from clarion.node.storage.snapshot_record import SNAPSHOT_KEY, SnapshotRecord, SnapshotState, decode_record


class ActiveCoins:
    """Hands out the reader of the coins that belong to the active chain. Safe to use from several threads."""

    def __init__(self, location: Location, chain: Engine, ordinary: CoinReader) -> None:
        """`chain` reads the chain database; `ordinary` the coins in their usual place."""
        self._location = location
        self._chain = chain
        self._ordinary = ordinary
        self._lock = threading.Lock()
        self._load_id = b""
        self._engine: Engine | None = None
        self._from_snapshot = ordinary

    def record(self) -> SnapshotRecord | None:
        """Return what is known of a snapshot that the chain starts from. Raises StorageError."""
        return self._look()[0]

    def _look(self) -> tuple[SnapshotRecord | None, str]:
        """Return the record and, on PostgreSQL, the schema of the chain's tables."""
        with snapshot(self._chain, self._location.describe(CHAIN.name)) as connection:
            statement = driver_sql(self._location, f"SELECT value FROM {CHAIN.meta_table} WHERE key = ?")
            row = connection.exec_driver_sql(statement, (SNAPSHOT_KEY,)).first()
            record = decode_record(None if row is None else bytes(row[0]))
            if record is None or self._location.is_sqlite:
                return record, ""
            return record, str(connection.exec_driver_sql("SELECT current_schema()").scalar_one())

    def reader(self) -> CoinReader:
        """Return the reader that is right now. Raises StorageError."""
        record, schema = self._look()
        if record is None or record.state is SnapshotState.INVALID:
            return self._ordinary
        with self._lock:
            if record.load_id != self._load_id:
                # Another snapshot than before: connections to the former one must not answer for it.
                self._dispose()
                place = snapshot_location(self._location, schema)
                self._engine = reader_engine(place, COINS.name)
                self._from_snapshot = CoinReader(self._engine, place)
                self._load_id = record.load_id
            return self._from_snapshot

    def close(self) -> None:
        """Close the connections to a snapshot's coins."""
        with self._lock:
            self._dispose()
            self._load_id = b""

    def _dispose(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None
