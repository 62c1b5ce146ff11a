"""The statements that move coins, for each dialect.

Owns: how many keys and rows go through one statement, and how. Never: transactions, or what a coin is.

Here, and only here, statements go to the driver's own cursor: SQLAlchemy's takes longer over a row than SQLite does.
"""

import sqlite3
import struct
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

from sqlalchemy.engine import Connection

from clarion.node.storage.faults import driver_errors
from clarion.node.storage.location import Location

_UNIQUE_VIOLATION = "23505"

CoinRow = tuple[bytes, int, int, bytes]
"""(key, value in satoshis, height * 2 + coinbase, script_pubkey)."""

CoinChange = tuple[bytes, int | None, int, bytes]
"""The same, with None for the value where the coin goes."""

_COLUMNS = "outpoint, value, code, script_pubkey"


class CoinSql(Protocol):
    """The statements. Keys are 36 bytes, txid then big-endian index, and come sorted: neighbours share pages."""

    @property
    def chunk(self) -> int:
        """How many changes `change` wants at a time."""
        ...

    def fetch(self, connection: Connection, keys: Sequence[bytes]) -> list[CoinRow]:
        """Return the rows that exist."""
        ...

    def change(self, connection: Connection, changes: Sequence[CoinChange]) -> None:
        """Delete coins that exist or not, and insert others, replacing those of the same key."""
        ...

    def page(self, connection: Connection, after: bytes, limit: int) -> Sequence[CoinRow]:
        """Return at most `limit` rows whose key is above `after`, in the order of the keys."""
        ...

    def set_tip(self, connection: Connection, block_hash: bytes) -> None:
        """Say which block the coins stand at."""
        ...

    def wipe(self, connection: Connection) -> None:
        """Delete all rows, and the tip."""
        ...


class SqliteCoinSql:
    """Sorted lists of keys and rows, many a statement: fewer calls, and less of them under the interpreter's lock."""

    # Deletions and insertions alternate, so that the pages of a stretch of keys are written once.
    chunk = 1_000
    # Few lengths, so that the driver's cache of prepared statements always has the one that is wanted.
    _LENGTHS = (1, 8, 64, 500)
    _FETCH = {n: f"SELECT {_COLUMNS} FROM coins WHERE outpoint IN ({', '.join('?' * n)})" for n in _LENGTHS}
    _DELETE = {n: f"DELETE FROM coins WHERE outpoint IN ({', '.join('?' * n)})" for n in _LENGTHS}
    _INSERT = {
        n: f"INSERT OR REPLACE INTO coins ({_COLUMNS}) VALUES {', '.join(['(?, ?, ?, ?)'] * n)}" for n in _LENGTHS
    }
    _PAGE = f"SELECT {_COLUMNS} FROM coins WHERE outpoint > ? ORDER BY outpoint LIMIT ?"
    _SET_TIP = "INSERT OR REPLACE INTO coins_tip (id, block_hash) VALUES (1, ?)"

    def fetch(self, connection: Connection, keys: Sequence[bytes]) -> list[CoinRow]:
        """Return the rows that exist."""
        execute = _sqlite(connection).execute
        found: list[CoinRow] = []
        for part in _parts(keys, self._LENGTHS[-1]):
            padded = self._padded(part)
            found += execute(self._FETCH[len(padded)], padded).fetchall()
        return found

    def change(self, connection: Connection, changes: Sequence[CoinChange]) -> None:
        """Delete coins that exist or not, and insert others, replacing those of the same key."""
        execute = _sqlite(connection).execute
        for keys in _parts([change[0] for change in changes if change[1] is None], self._LENGTHS[-1]):
            padded = self._padded(keys)
            execute(self._DELETE[len(padded)], padded)
        for rows in _parts([change for change in changes if change[1] is not None], self._LENGTHS[-1]):
            padded = self._padded(rows)
            execute(self._INSERT[len(padded)], list(chain.from_iterable(padded)))

    def _padded(self, part: Sequence[Any]) -> Sequence[Any]:
        # A repeated key or row changes nothing, so the last one fills the list up.
        length = next(n for n in self._LENGTHS if n >= len(part))
        return (*part, *[part[-1]] * (length - len(part)))

    def page(self, connection: Connection, after: bytes, limit: int) -> Sequence[CoinRow]:
        """Return at most `limit` rows whose key is above `after`, in the order of the keys."""
        rows: list[CoinRow] = _sqlite(connection).execute(self._PAGE, (after, limit)).fetchall()
        return rows

    def set_tip(self, connection: Connection, block_hash: bytes) -> None:
        """Say which block the coins stand at."""
        connection.exec_driver_sql(self._SET_TIP, (block_hash,))

    def wipe(self, connection: Connection) -> None:
        """Delete all rows, and the tip."""
        connection.exec_driver_sql("DELETE FROM coins")
        connection.exec_driver_sql("DELETE FROM coins_tip")


class PostgresCoinSql:
    """Everything in the binary format: keys as one array, new rows by COPY."""

    chunk = 20_000
    _FETCH = f"SELECT {_COLUMNS} FROM coins WHERE outpoint = ANY(%b::bytea[])"
    _DELETE = "DELETE FROM coins WHERE outpoint = ANY(%b::bytea[])"
    _COPY = f"COPY coins ({_COLUMNS}) FROM STDIN (FORMAT BINARY)"
    _PAGE = f"SELECT {_COLUMNS} FROM coins WHERE outpoint > %b ORDER BY outpoint LIMIT %b"
    _SET_TIP = (
        "INSERT INTO coins_tip (id, block_hash) VALUES (1, %b) "
        "ON CONFLICT (id) DO UPDATE SET block_hash = excluded.block_hash"
    )
    # COPY's binary format: a signature with two empty fields; per row the number of columns, then length and bytes of
    # each; a row of -1 columns at the end.
    _COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
    _COPY_ROW = struct.Struct(">hi36siqiqi")
    _COPY_TAIL = b"\xff\xff"

    def fetch(self, connection: Connection, keys: Sequence[bytes]) -> list[CoinRow]:
        """Return the rows that exist."""
        found: list[CoinRow] = []
        with _psycopg(connection).cursor(binary=True) as cursor:
            for part in _parts(keys, self.chunk):
                found += cursor.execute(self._FETCH, (list(part),)).fetchall()
        return found

    def change(self, connection: Connection, changes: Sequence[CoinChange]) -> None:
        """Delete coins that exist or not, and insert others, replacing those of the same key."""
        deleted = [change[0] for change in changes if change[1] is None]
        rows = [change for change in changes if change[1] is not None]
        with _psycopg(connection).cursor() as cursor:
            if deleted:
                cursor.execute(self._DELETE, (deleted,))
            if not rows:
                return
            # Coins are hardly ever replaced, and COPY can't replace them; only a recovery meets many that are there.
            cursor.execute("SAVEPOINT copy")
            try:
                self._copy(cursor, rows)
            except driver_errors() as error:
                if getattr(error, "sqlstate", None) != _UNIQUE_VIOLATION:
                    raise
                cursor.execute("ROLLBACK TO SAVEPOINT copy")
                cursor.execute(self._DELETE, ([row[0] for row in rows],))
                self._copy(cursor, rows)
            cursor.execute("RELEASE SAVEPOINT copy")

    def _copy(self, cursor: Any, rows: Sequence[CoinChange]) -> None:
        pack = self._COPY_ROW.pack
        body = b"".join(
            [pack(4, 36, key, 8, value, 8, code, len(script)) + script for key, value, code, script in rows]
        )
        with cursor.copy(self._COPY) as copy:
            copy.write(self._COPY_HEAD + body + self._COPY_TAIL)

    def page(self, connection: Connection, after: bytes, limit: int) -> Sequence[CoinRow]:
        """Return at most `limit` rows whose key is above `after`, in the order of the keys."""
        with _psycopg(connection).cursor(binary=True) as cursor:
            rows: list[CoinRow] = cursor.execute(self._PAGE, (after, limit)).fetchall()
        return rows

    def set_tip(self, connection: Connection, block_hash: bytes) -> None:
        """Say which block the coins stand at."""
        connection.exec_driver_sql(self._SET_TIP, (block_hash,))

    def wipe(self, connection: Connection) -> None:
        """Delete all rows, and the tip."""
        connection.exec_driver_sql("TRUNCATE coins, coins_tip")


def coin_sql(location: Location) -> CoinSql:
    """Return the statements for the location's dialect."""
    return SqliteCoinSql() if location.is_sqlite else PostgresCoinSql()


def _sqlite(connection: Connection) -> sqlite3.Connection:
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def _psycopg(connection: Connection) -> Any:
    return connection.connection.driver_connection


def _parts(values: Sequence[Any], length: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), length):
        yield values[start : start + length]
