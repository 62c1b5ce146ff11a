"""The coins database: every unspent output, and the block that the set stands at.

Owns: keys, batched reads, the flush (one transaction with its tip), consistent walks over the whole set.
Never: a cache, or which coins exist: the chain manager says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.engine import Connection

from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint
from clarion.node.storage.coin_sql import CoinRow, CoinSql, coin_sql
from clarion.node.storage.engine import Writer, snapshot
from clarion.node.storage.location import Location

_PAGE = 5_000


def coin_key(outpoint: bytes) -> bytes:
    """Return the stored key of a wire outpoint: the index turned big-endian, so that keys sort by txid, then index.

    That is the order in which `hash_serialized_3` runs over the coins.
    """
    return outpoint[:32] + outpoint[:31:-1]


def key_outpoint(key: bytes) -> OutPoint:
    """Return the wire outpoint of a stored key."""
    return OutPoint(key[:32] + key[:31:-1])


class CoinSnapshot:
    """The coins as one read transaction sees them: unchanged while it is open, whatever is flushed meanwhile."""

    def __init__(self, connection: Connection, sql: CoinSql) -> None:
        self._connection = connection
        self._sql = sql

    def tip(self) -> BlockHash | None:
        """Return the block that these coins stand at, None for a database that was never flushed."""
        row = self._connection.exec_driver_sql("SELECT block_hash FROM coins_tip").first()
        return None if row is None else BlockHash(row[0])

    def count(self) -> int:
        """Return the number of coins. Counts them: takes long on a large set."""
        (number,) = self._connection.exec_driver_sql("SELECT COUNT(*) FROM coins").one()
        return int(number)

    def fetch(self, outpoints: Sequence[OutPoint]) -> dict[OutPoint, Coin]:
        """Return those of the coins that exist."""
        keys = sorted([coin_key(outpoint) for outpoint in outpoints])
        return {
            key_outpoint(key): Coin(value, script, code)
            for key, value, code, script in self._sql.fetch(self._connection, keys)
        }

    def iterate(self) -> Iterator[tuple[OutPoint, Coin]]:
        """Yield all coins by txid (as bytes in internal order), then index; little memory, whatever their number."""
        after = b""
        while True:
            page = self._sql.page(self._connection, after, _PAGE)
            for key, value, code, script in page:
                yield key_outpoint(key), Coin(value, script, code)
            if len(page) < _PAGE:
                return
            after = page[-1][0]


class CoinReader:
    """Opens snapshots of the coins, in any process and thread."""

    def __init__(self, engine: Engine, location: Location) -> None:
        self._engine = engine
        self._name = location.describe("coins")
        self._sql = coin_sql(location)

    @contextmanager
    def snapshot(self) -> Iterator[CoinSnapshot]:
        """A consistent view of the coins. Raises StorageError."""
        with snapshot(self._engine, self._name) as connection:
            yield CoinSnapshot(connection, self._sql)


class CoinStore:
    """The only writer of the coins. Reads go through connections of their own and never wait for a flush."""

    def __init__(self, writer: Writer, reader: CoinReader, location: Location) -> None:
        self._writer = writer
        self._reader = reader
        self._sql = coin_sql(location)

    def fetch(self, outpoints: Sequence[OutPoint]) -> dict[OutPoint, Coin]:
        """Return those of the coins that exist, as of the last flush, in one batched query. Raises StorageError."""
        if not outpoints:
            return {}
        with self._reader.snapshot() as view:
            return view.fetch(outpoints)

    def flush(self, changes: Mapping[OutPoint, Coin | None], tip: BlockHash) -> None:
        """Store coins, delete those that are None (existing or not) and set the tip, in one transaction.

        Raises StorageError; then nothing has changed.
        """
        # Sorted, so that neighbouring keys meet the same pages of the tree.
        rows: list[CoinRow] = []
        deleted: list[bytes] = []
        for key, coin in sorted([(coin_key(outpoint), coin) for outpoint, coin in changes.items()], key=_first):
            if coin is None:
                deleted.append(key)
            else:
                rows.append((key, coin.value, coin.code, coin.script_pubkey))
        with self._writer.transaction() as connection:
            if deleted:
                self._sql.delete(connection, deleted)
            if rows:
                self._sql.upsert(connection, rows)
            self._sql.set_tip(connection, tip)

    def wipe(self) -> None:
        """Delete all coins and forget their tip. Raises StorageError."""
        with self._writer.transaction() as connection:
            self._sql.wipe(connection)

    def tip(self) -> BlockHash | None:
        """Return the block that the coins stand at, None before the first flush."""
        with self._reader.snapshot() as view:
            return view.tip()

    def count(self) -> int:
        """Return the number of coins. Counts them: takes long on a large set."""
        with self._reader.snapshot() as view:
            return view.count()

    def iterate(self) -> Iterator[tuple[OutPoint, Coin]]:
        """Yield all coins of one snapshot by txid, then index."""
        with self._reader.snapshot() as view:
            yield from view.iterate()

    @contextmanager
    def snapshot(self) -> Iterator[CoinSnapshot]:
        """A consistent view of the coins with their tip."""
        with self._reader.snapshot() as view:
            yield view


def _first(pair: tuple[bytes, Coin | None]) -> bytes:
    return pair[0]
