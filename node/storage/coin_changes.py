"""Coins as they were at an earlier block: those of the database, and what has to be changed about them.

Owns: the changes, in a SQLite database of their own that goes with the object, and the walk over both. Never: the node's
coins, which are only read.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from clarion.node.errors import StorageError
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint
from clarion.node.storage.coin_sql import CoinRow
from clarion.node.storage.coin_store import coin_key

_PAGE = 5_000
_Change = tuple[bytes, int | None, int, bytes]


class CoinChanges:
    """Changes by outpoint, the last one counts. Used by one thread, in a `with` block."""

    def __init__(self, path: Path | None) -> None:
        """`path` is the file to be made, in place of one that a crash left behind; None: everything is kept in memory.

        Raises StorageError.
        """
        self._path = path
        self._name = "in memory" if path is None else str(path)
        try:
            if path is not None:
                path.unlink(missing_ok=True)
            self._connection = sqlite3.connect(":memory:" if path is None else path, isolation_level=None)
            # Nobody needs it after a crash.
            self._connection.execute("PRAGMA journal_mode = OFF")
            self._connection.execute("PRAGMA synchronous = OFF")
            self._connection.execute(
                "CREATE TABLE changes (outpoint BLOB PRIMARY KEY, value INTEGER, code INTEGER, script BLOB) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise StorageError(f"database of the coins' changes ({self._name}): {error}") from error

    def __enter__(self) -> "CoinChanges":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def apply(self, removed: Iterable[OutPoint], restored: Mapping[OutPoint, Coin]) -> None:
        """Take coins away, then put others back. Raises StorageError."""
        changes: dict[OutPoint, _Change] = {each: (coin_key(each), None, 0, b"") for each in removed}
        for outpoint, coin in restored.items():
            changes[outpoint] = (coin_key(outpoint), coin.value, coin.code, coin.script_pubkey)
        try:
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT OR REPLACE INTO changes VALUES (?, ?, ?, ?)", sorted(changes.values()))
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StorageError(f"database of the coins' changes ({self._name}): {error}") from error

    def over(self, rows: Iterable[CoinRow]) -> Iterator[CoinRow]:
        """Yield coins, given by the order of their keys, as they are with the changes; in the same order.

        Raises StorageError.
        """
        changes = self._sorted()
        change = next(changes, None)
        for row in rows:
            while change is not None and change[0] < row[0]:
                if change[1] is not None:
                    yield (change[0], change[1], change[2], change[3])
                change = next(changes, None)
            if change is None or change[0] != row[0]:
                yield row
        while change is not None:
            if change[1] is not None:
                yield (change[0], change[1], change[2], change[3])
            change = next(changes, None)

    def _sorted(self) -> Iterator[_Change]:
        after = b""
        while True:
            try:
                page: list[_Change] = self._connection.execute(
                    "SELECT * FROM changes WHERE outpoint > ? ORDER BY outpoint LIMIT ?", (after, _PAGE)
                ).fetchall()
            except sqlite3.Error as error:
                raise StorageError(f"database of the coins' changes ({self._name}): {error}") from error
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1][0]
