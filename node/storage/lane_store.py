"""What lanes remember: their cursors, whether they are held, and the messages that they could not deliver.

Owns: the database `lanes` (a SQLite file, or tables of its own on a server), written by the events process alone.
Never: what a cursor means, or when a message is given up.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection

from clarion.node.errors import ConfigError, StorageError
from clarion.node.storage.checkpointer import Checkpointer
from clarion.node.storage.claim import WriterClaim
from clarion.node.storage.engine import driver_sql, writer_engine
from clarion.node.storage.faults import Patience
from clarion.node.storage.location import Backend, Location
from clarion.node.storage.migrate import Network
from clarion.node.storage.writer import Writer

COMPONENT = "lanes"
SCHEMA_VERSION = b"1"
PATIENCE_S = 60.0
"""How long a lane's commit waits for a server that is away. What is then not stored is delivered again."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS lanes_meta (key TEXT PRIMARY KEY, value {blob} NOT NULL){tail}",
    (
        "CREATE TABLE IF NOT EXISTS lanes (name TEXT PRIMARY KEY, cursor TEXT NOT NULL, wanted TEXT NOT NULL, "
        "paused INTEGER NOT NULL, stopped TEXT NOT NULL){tail}"
    ),
    (
        "CREATE TABLE IF NOT EXISTS dead_letters (lane TEXT NOT NULL, id TEXT NOT NULL, seq BIGINT NOT NULL, "
        "type TEXT NOT NULL, time BIGINT NOT NULL, cursor TEXT NOT NULL, body {blob} NOT NULL, attempts INTEGER NOT NULL, "
        "error TEXT NOT NULL, failed_at BIGINT NOT NULL, PRIMARY KEY (lane, id)){tail}"
    ),
)
_META = "SELECT key, value FROM lanes_meta"
_SET_META = "INSERT INTO lanes_meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_LANE = "SELECT cursor, wanted, paused, stopped FROM lanes WHERE name = ?"
_SET_LANE = (
    "INSERT INTO lanes (name, cursor, wanted, paused, stopped) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "cursor = excluded.cursor, wanted = excluded.wanted, paused = excluded.paused, stopped = excluded.stopped"
)
_SET_CURSOR = "UPDATE lanes SET cursor = ? WHERE name = ?"
_LETTER = "id, type, time, cursor, body, attempts, error, failed_at"
_BURY = (
    f"INSERT INTO dead_letters (lane, seq, {_LETTER}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (lane, id) "
    "DO UPDATE SET attempts = excluded.attempts, error = excluded.error, failed_at = excluded.failed_at"
)
_COUNT = "SELECT COUNT(*) FROM dead_letters WHERE lane = ?"
_LETTERS = f"SELECT {_LETTER} FROM dead_letters WHERE lane = ? ORDER BY seq, id LIMIT ?"
_ONE_LETTER = f"SELECT {_LETTER} FROM dead_letters WHERE lane = ? AND id = ?"
_UPDATE = "UPDATE dead_letters SET attempts = ?, error = ?, failed_at = ? WHERE lane = ? AND id = ?"
_DROP = "DELETE FROM dead_letters WHERE lane = ? AND id = ?"


@dataclass(frozen=True, slots=True)
class LaneRecord:
    """One lane as it is stored. `wanted` is the text of what it was asked for, `stopped` says why it stands still."""

    cursor: str
    wanted: str
    paused: bool = False
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that could not be delivered. Times are in Unix seconds; `body` is what was to be sent."""

    id: str
    type: str
    time: int
    cursor: str
    body: bytes
    attempts: int
    error: str
    failed_at: int


class LaneStore:
    """Reads and writes for all lanes of a node. Thread-safe. Every method raises StorageError."""

    def __init__(self, writer: Writer, location: Location) -> None:
        self._writer = writer
        self._location = location

    def lane(self, name: str) -> LaneRecord | None:
        """Return what is stored of a lane, None for a new one."""
        row = self._first(_LANE, (name,))
        return None if row is None else LaneRecord(row[0], row[1], bool(row[2]), row[3])

    def save(self, name: str, record: LaneRecord) -> None:
        """Store a lane."""
        self._write((_SET_LANE, (name, record.cursor, record.wanted, int(record.paused), record.stopped)))

    def move(self, name: str, cursor: str) -> None:
        """Store how far a lane has come."""
        self._write((_SET_CURSOR, (cursor, name)))

    def bury(self, name: str, letter: DeadLetter) -> None:
        """Store a message that is given up, and that the lane has gone past it, in one transaction."""
        fields = (letter.id, letter.type, letter.time, letter.cursor, letter.body)
        about = (letter.attempts, letter.error, letter.failed_at)
        seq = int(letter.id.split(".")[1])
        self._write((_BURY, (name, seq, *fields, *about)), (_SET_CURSOR, (letter.cursor, name)))

    def update_letter(self, name: str, letter: DeadLetter) -> None:
        """Store that another attempt at a message that was given up failed."""
        self._write((_UPDATE, (letter.attempts, letter.error, letter.failed_at, name, letter.id)))

    def count_letters(self, name: str) -> int:
        """Return how many messages of a lane were given up."""
        row = self._first(_COUNT, (name,))
        return 0 if row is None else int(row[0])

    def letters(self, name: str, limit: int) -> list[DeadLetter]:
        """Return the oldest messages that were given up, at most `limit`."""
        rows = self._writer.read(lambda connection: self._execute(connection, _LETTERS, (name, limit)).all())
        return [_letter(row) for row in rows]

    def letter(self, name: str, letter_id: str) -> DeadLetter | None:
        """Return one of them."""
        row = self._first(_ONE_LETTER, (name, letter_id))
        return None if row is None else _letter(row)

    def drop_letter(self, name: str, letter_id: str) -> None:
        """Forget one of them."""
        self._write((_DROP, (name, letter_id)))

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()

    def _first(self, statement: str, parameters: tuple[Any, ...]) -> Sequence[Any] | None:
        row: Sequence[Any] | None
        row = self._writer.read(lambda connection: self._execute(connection, statement, parameters).first())
        return row

    def _write(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        def work(connection: Connection) -> None:
            for statement, parameters in statements:
                self._execute(connection, statement, parameters)

        self._writer.run(work)

    def _execute(self, connection: Connection, statement: str, parameters: tuple[Any, ...]) -> Any:
        return connection.exec_driver_sql(driver_sql(self._location, statement), parameters)


def _letter(row: Sequence[Any]) -> DeadLetter:
    letter_id, type_, time, cursor, body, attempts, error, failed_at = row
    return DeadLetter(letter_id, type_, int(time), cursor, bytes(body), int(attempts), error, int(failed_at))


def open_lane_store(location: Location, network: Network) -> LaneStore:
    """Open (or make) the lanes' database beside the chain's. Raises ConfigError, in one line."""
    name = location.describe(COMPONENT)
    claim = None if location.is_sqlite else WriterClaim(name, COMPONENT, "lanes_meta")
    writer = Writer(writer_engine(location, COMPONENT), name, Patience(PATIENCE_S), claim)
    with contextlib.ExitStack() as stack:
        stack.callback(writer.close)
        try:
            writer.claim()
            with writer.transaction() as connection:
                _prepare(connection, location, network, name)
            writer.begin_marks()
        except StorageError as error:
            raise ConfigError(f"Cannot open the database {error}") from error
        if location.backend is Backend.SQLITE_FILE:
            writer.checkpointer = Checkpointer(location.folder / f"{COMPONENT}.sqlite")
        stack.pop_all()
    return LaneStore(writer, location)


def _prepare(connection: Connection, location: Location, network: Network, name: str) -> None:
    blob, tail = ("BLOB", " WITHOUT ROWID") if location.is_sqlite else ("BYTEA", "")
    for statement in _TABLES:
        connection.exec_driver_sql(statement.format(blob=blob, tail=tail))
    found = {key: bytes(value) for key, value in connection.exec_driver_sql(_META)}
    expected = {"version": SCHEMA_VERSION, "network": network.name.encode(), "magic": network.magic}
    for key, value in expected.items():
        if found.get(key, value) != value:
            raise ConfigError(f"{name}: its {key} is {found[key]!r}, not {value!r}: it belongs to another node")
    connection.exec_driver_sql(driver_sql(location, _SET_META), list(expected.items()))
