"""The statements that move coins, for each dialect.

Owns: how many keys and rows go through one statement, and how. Never: transactions, or what a coin is.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from sqlalchemy.engine import Connection

from clarion.node.storage.location import Location

CoinRow = tuple[bytes, int, int, bytes]
"""(key, value in satoshis, height * 2 + coinbase, script_pubkey)."""

_COLUMNS = "outpoint, value, code, script_pubkey"


class CoinSql(Protocol):
    """The statements. Keys are 36 bytes, txid then big-endian index, and come sorted: neighbours share pages."""

    def fetch(self, connection: Connection, keys: Sequence[bytes]) -> Iterator[CoinRow]:
        """Yield the rows that exist."""
        ...

    def delete(self, connection: Connection, keys: Sequence[bytes]) -> None:
        """Delete the rows that exist."""
        ...

    def upsert(self, connection: Connection, rows: Sequence[CoinRow]) -> None:
        """Insert rows, replacing those of the same key."""
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
    """Sorted IN lists, and one prepared statement over many rows."""

    # Few lengths, so that the driver's cache of prepared statements always has the one that is wanted.
    _LENGTHS = (1, 8, 64, 500)
    _FETCH = {n: f"SELECT {_COLUMNS} FROM coins WHERE outpoint IN ({', '.join('?' * n)})" for n in _LENGTHS}
    _DELETE = "DELETE FROM coins WHERE outpoint = ?"
    _UPSERT = f"INSERT OR REPLACE INTO coins ({_COLUMNS}) VALUES (?, ?, ?, ?)"
    _PAGE = f"SELECT {_COLUMNS} FROM coins WHERE outpoint > ? ORDER BY outpoint LIMIT ?"
    _SET_TIP = "INSERT OR REPLACE INTO coins_tip (id, block_hash) VALUES (1, ?)"

    def fetch(self, connection: Connection, keys: Sequence[bytes]) -> Iterator[CoinRow]:
        """Yield the rows that exist."""
        for part in _parts(keys, self._LENGTHS[-1]):
            length = next(n for n in self._LENGTHS if n >= len(part))
            # A repeated key changes nothing, so the last key fills the list up.
            padded = (*part, *[part[-1]] * (length - len(part)))
            yield from connection.exec_driver_sql(self._FETCH[length], padded)

    def delete(self, connection: Connection, keys: Sequence[bytes]) -> None:
        """Delete the rows that exist."""
        connection.exec_driver_sql(self._DELETE, [(key,) for key in keys])

    def upsert(self, connection: Connection, rows: Sequence[CoinRow]) -> None:
        """Insert rows, replacing those of the same key."""
        connection.exec_driver_sql(self._UPSERT, list(rows))

    def page(self, connection: Connection, after: bytes, limit: int) -> Sequence[CoinRow]:
        """Return at most `limit` rows whose key is above `after`, in the order of the keys."""
        return connection.exec_driver_sql(self._PAGE, (after, limit)).all()

    def set_tip(self, connection: Connection, block_hash: bytes) -> None:
        """Say which block the coins stand at."""
        connection.exec_driver_sql(self._SET_TIP, (block_hash,))

    def wipe(self, connection: Connection) -> None:
        """Delete all rows, and the tip."""
        connection.exec_driver_sql("DELETE FROM coins")
        connection.exec_driver_sql("DELETE FROM coins_tip")


class PostgresCoinSql:
    """Arrays in the binary format: one parameter for any number of keys."""

    _CHUNK = 20_000
    _FETCH = f"SELECT {_COLUMNS} FROM coins WHERE outpoint = ANY(%b::bytea[])"
    _DELETE = "DELETE FROM coins WHERE outpoint = ANY(%b::bytea[])"
    _UPSERT = (
        f"INSERT INTO coins ({_COLUMNS}) SELECT * FROM unnest(%b::bytea[], %b::bigint[], %b::bigint[], %b::bytea[]) "
        "ON CONFLICT (outpoint) DO UPDATE SET value = excluded.value, code = excluded.code, "
        "script_pubkey = excluded.script_pubkey"
    )
    _PAGE = f"SELECT {_COLUMNS} FROM coins WHERE outpoint > %b ORDER BY outpoint LIMIT %b"
    _SET_TIP = (
        "INSERT INTO coins_tip (id, block_hash) VALUES (1, %b) "
        "ON CONFLICT (id) DO UPDATE SET block_hash = excluded.block_hash"
    )

    def fetch(self, connection: Connection, keys: Sequence[bytes]) -> Iterator[CoinRow]:
        """Yield the rows that exist."""
        for part in _parts(keys, self._CHUNK):
            yield from connection.exec_driver_sql(self._FETCH, (list(part),))

    def delete(self, connection: Connection, keys: Sequence[bytes]) -> None:
        """Delete the rows that exist."""
        for part in _parts(keys, self._CHUNK):
            connection.exec_driver_sql(self._DELETE, (list(part),))

    def upsert(self, connection: Connection, rows: Sequence[CoinRow]) -> None:
        """Insert rows, replacing those of the same key."""
        for start in range(0, len(rows), self._CHUNK):
            columns: Iterable[tuple[object, ...]] = zip(*rows[start : start + self._CHUNK], strict=True)
            connection.exec_driver_sql(self._UPSERT, tuple(list(column) for column in columns))

    def page(self, connection: Connection, after: bytes, limit: int) -> Sequence[CoinRow]:
        """Return at most `limit` rows whose key is above `after`, in the order of the keys."""
        return connection.exec_driver_sql(self._PAGE, (after, limit)).all()

    def set_tip(self, connection: Connection, block_hash: bytes) -> None:
        """Say which block the coins stand at."""
        connection.exec_driver_sql(self._SET_TIP, (block_hash,))

    def wipe(self, connection: Connection) -> None:
        """Delete all rows, and the tip."""
        connection.exec_driver_sql("TRUNCATE coins, coins_tip")


def coin_sql(location: Location) -> CoinSql:
    """Return the statements for the location's dialect."""
    return SqliteCoinSql() if location.is_sqlite else PostgresCoinSql()


def _parts(keys: Sequence[bytes], length: int) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(keys), length):
        yield keys[start : start + length]
