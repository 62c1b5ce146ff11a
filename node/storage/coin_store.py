"""The coins database: every unspent output, and the block that the set stands at.

Owns: keys, batched reads, the flush (one transaction with its tip), consistent walks over the whole set.
Never: a cache, or which coins exist: the chain manager says so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Engine
from sqlalchemy.engine import Connection

from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint, Txid
from clarion.node.storage.coin_sql import CoinChange, CoinRow, CoinSql, coin_sql
from clarion.node.storage.engine import READER_PATIENCE, page_cache_bytes, snapshot
from clarion.node.storage.faults import Outage, Patience, driver_errors
from clarion.node.storage.location import Location
from clarion.node.storage.writer import Writer

T = TypeVar("T")

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
        # The inner reversal is that of `coin_key` and `key_outpoint`, without a call for each coin.
        keys = [outpoint[:32] + outpoint[:31:-1] for outpoint in outpoints]
        keys.sort()
        return {
            OutPoint(key[:32] + key[:31:-1]): Coin(value, script, code)
            for key, value, code, script in self._sql.fetch(self._connection, keys)
        }

    def any_of(self, txid: Txid) -> Coin | None:
        """Return the first unspent output of a transaction, None if it has none."""
        page = self._sql.page(self._connection, txid, 1)
        if not page or page[0][0][:32] != txid:
            return None
        _, value, code, script = page[0]
        return Coin(value, script, code)

    def iterate(self, behind: OutPoint | None = None) -> Iterator[tuple[OutPoint, Coin]]:
        """Yield all coins by txid (as bytes in internal order), then index; little memory, whatever their number.

        With `behind`, only those that come after that outpoint.
        """
        for page in self._pages(b"" if behind is None else coin_key(behind)):
            for key, value, code, script in page:
                yield key_outpoint(key), Coin(value, script, code)

    def rows(self) -> Iterator[CoinRow]:
        """Yield all coins in the same order, as they are stored."""
        for page in self._pages(b""):
            yield from page

    def _pages(self, after: bytes) -> Iterator[Sequence[CoinRow]]:
        while True:
            page = self._sql.page(self._connection, after, _PAGE)
            yield page
            if len(page) < _PAGE:
                return
            after = page[-1][0]


class CoinReader:
    """Opens snapshots of the coins, in any process and thread."""

    def __init__(self, engine: Engine, location: Location, patience: Patience = READER_PATIENCE) -> None:
        """`patience`: how long a server that is away is waited for."""
        self._engine = engine
        self._name = location.describe("coins")
        self._sql = coin_sql(location)
        self._patience = patience

    @contextmanager
    def snapshot(self) -> Iterator[CoinSnapshot]:
        """A consistent view of the coins. Raises StorageError."""
        with snapshot(self._engine, self._name, self._patience) as connection:
            yield CoinSnapshot(connection, self._sql)

    def run(self, work: Callable[[CoinSnapshot], T]) -> T:
        """Return what `work` returns, run again with another snapshot if the server went away. Raises StorageError."""
        outage = Outage(self._name, self._patience)
        while True:
            try:
                with self._engine.connect() as connection, connection.begin():
                    result = work(CoinSnapshot(connection, self._sql))
            except driver_errors() as error:
                outage.wait(error)
            else:
                outage.end()
                return result


class CoinStore:
    """The only writer of the coins. Reads go through connections of their own and never wait for a flush.

    While a server is away, calls take longer.
    """

    def __init__(self, writer: Writer, reader: CoinReader, location: Location) -> None:
        self._writer = writer
        self._reader = reader
        self._sql = coin_sql(location)
        self.cache_bytes = page_cache_bytes(location, "coins")

    def fetch(self, outpoints: Sequence[OutPoint]) -> dict[OutPoint, Coin]:
        """Return those of the coins that exist, as of the last flush, in one batched query. Raises StorageError."""
        if not outpoints:
            return {}
        return self._reader.run(lambda view: view.fetch(outpoints))

    def flush(self, changes: Mapping[OutPoint, Coin | None], tip: BlockHash) -> None:
        """Store coins, delete those that are None (existing or not) and set the tip, in one transaction.

        `changes` must stay as they are until it returns; it may take seconds, during which other threads hardly wait.
        Raises StorageError; then nothing has changed.
        """
        # By key, so that neighbours meet the same pages of the tree.
        outpoints = sorted(changes, key=coin_key)
        sql = self._sql

        def write(connection: Connection) -> None:
            sql.set_tip(connection, tip)
            for start in range(0, len(outpoints), sql.chunk):
                part = outpoints[start : start + sql.chunk]
                sql.change(connection, [_change(outpoint, changes[outpoint]) for outpoint in part])

        self._writer.run(write)

    def load(self, rows: Sequence[CoinRow]) -> None:
        """Store coins of a set that is being built, in one transaction; `end_load` says when it is whole. Raises StorageError."""
        sql = self._sql
        # Of two rows with one key the later one counts, on every database.
        unique = list({row[0]: row for row in rows}.values())

        def write(connection: Connection) -> None:
            for start in range(0, len(unique), sql.chunk):
                sql.change(connection, unique[start : start + sql.chunk])

        self._writer.run(write)

    def end_load(self, tip: BlockHash) -> None:
        """Say which block the loaded coins stand at, and return once they outlive a power cut. Raises StorageError."""
        self._writer.run(lambda connection: self._sql.set_tip(connection, tip))
        self._writer.make_durable()

    def wipe(self) -> None:
        """Delete all coins and forget their tip. Raises StorageError."""
        self._writer.run(self._sql.wipe)

    def make_durable(self) -> None:
        """Return once every flush so far outlives a power cut. Raises StorageError.

        A flush alone is safe against a crash of the program; before block files are removed, that is not enough.
        """
        self._writer.make_durable()

    def tip(self) -> BlockHash | None:
        """Return the block that the coins stand at, None before the first flush."""
        return self._reader.run(CoinSnapshot.tip)

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


def _change(outpoint: OutPoint, coin: Coin | None) -> CoinChange:
    key = outpoint[:32] + outpoint[:31:-1]
    return (key, None, 0, b"") if coin is None else (key, coin.value, coin.code, coin.script_pubkey)
