"""What other processes read: the chain, the coins, blocks and undo data, without the node and without its lock.

Owns: snapshots, one read transaction for one answer. Never: writing, or anything that only the live node knows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from clarion.node.errors import BlockFileError, ConfigError, StorageError
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.active_coins import ActiveCoins
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.block_status import HAVE_DATA, HAVE_UNDO
from clarion.node.storage.chain_store import BLOCK_COLUMNS, decode_block_row
from clarion.node.storage.coin_store import CoinReader, CoinSnapshot
from clarion.node.storage.engine import reader_engine
from clarion.node.storage.event_log import EventLog
from clarion.node.storage.faults import failure
from clarion.node.storage.location import Backend, locate
from clarion.node.storage.migrate import CHAIN, COINS, Component, Network, check, read_meta
from clarion.node.storage.row_snapshot import Row, RowSnapshot, row_snapshot
from clarion.node.storage.rows import BlockPosition, BlockRow
from clarion.node.storage.snapshot_record import SnapshotRecord
from clarion.node.storage.undo_files import GENESIS_SPENT, UndoFiles

MEDIAN_TIME_SPAN = 11

_JOINED = ", ".join(f"blocks.{name}" for name in BLOCK_COLUMNS.split(", "))
_FROM_ACTIVE = f"SELECT {_JOINED} FROM active_chain JOIN blocks ON blocks.hash = active_chain.hash"
_TIP = f"{_FROM_ACTIVE} ORDER BY active_chain.height DESC LIMIT 1"
_TIP_HEIGHT = "SELECT MAX(height) FROM active_chain"
_BLOCK = f"SELECT {BLOCK_COLUMNS} FROM blocks WHERE hash = ?"
_BLOCKS_PAGE = f"SELECT {BLOCK_COLUMNS} FROM blocks WHERE (height, hash) > (?, ?) ORDER BY height, hash LIMIT ?"
_PAGE = 10_000
_MEDIANS_KEPT = 10_000
_HASH_AT = "SELECT hash FROM active_chain WHERE height = ?"
_TWO_HASHES = "SELECT height, hash FROM active_chain WHERE height IN (?, ?)"
_PLACED = (
    f"SELECT {_JOINED}, here.hash, successor.hash, ({_TIP_HEIGHT}) FROM blocks "
    "LEFT JOIN active_chain AS here ON here.height = blocks.height "
    "LEFT JOIN active_chain AS successor ON successor.height = blocks.height + 1 WHERE blocks.hash = ?"
)
_STALE = (
    f"SELECT {_JOINED} FROM blocks LEFT JOIN active_chain ON active_chain.height = blocks.height "
    "AND active_chain.hash = blocks.hash WHERE active_chain.height IS NULL ORDER BY blocks.height, blocks.hash"
)
_LACKING = (
    "SELECT MAX(active_chain.height) FROM active_chain JOIN blocks ON blocks.hash = active_chain.hash "
    "WHERE active_chain.height > 0 AND blocks.tx_count > 0 AND blocks.status & ? <> ?"
)
_RANGE = f"{_FROM_ACTIVE} WHERE active_chain.height >= ? AND active_chain.height < ? ORDER BY active_chain.height"


class ChainPlace(NamedTuple):
    """Where a block stands: `confirmations` is -1 off the active chain, `next_hash` None there and at the tip."""

    confirmations: int
    next_hash: BlockHash | None


class ChainSnapshot:
    """The block index and the active chain as one read transaction sees them."""

    def __init__(self, transaction: RowSnapshot, medians: dict[BlockHash, int]) -> None:
        """`medians` are the median times past that are known by now: a block's never changes."""
        self._rows = transaction.rows
        self._medians = medians

    def tip(self) -> BlockRow | None:
        """Return the active chain's last block, None before the genesis block is stored."""
        return _only(self._rows(_TIP))

    def height(self) -> int:
        """Return the height of the active chain, -1 before the genesis block is stored."""
        ((height,),) = self._rows(_TIP_HEIGHT)
        return -1 if height is None else int(height)

    def block(self, block_hash: bytes) -> BlockRow | None:
        """Return a block or header by hash, on any branch."""
        return _only(self._rows(_BLOCK, (block_hash,)))

    def placed_block(self, block_hash: bytes) -> tuple[BlockRow, ChainPlace] | None:
        """Return a block or header by hash, on any branch, with where it stands."""
        found = self._rows(_PLACED, (block_hash,))
        if not found:
            return None
        *columns, here, next_hash, height = found[0]
        row = decode_block_row(columns)
        if here != row.hash:
            return row, ChainPlace(-1, None)
        return row, ChainPlace(height - row.height + 1, None if next_hash is None else BlockHash(next_hash))

    def blocks(self) -> Iterator[BlockRow]:
        """Yield every block and header, on any branch, by height."""
        height, last_hash = -1, b""
        while True:
            page = self._rows(_BLOCKS_PAGE, (height, last_hash, _PAGE))
            yield from map(decode_block_row, page)
            if len(page) < _PAGE:
                return
            height, last_hash = page[-1][2], page[-1][0]

    def hash_at(self, height: int) -> BlockHash | None:
        """Return the active chain's block hash at a height, None outside of it."""
        found = self._rows(_HASH_AT, (height,))
        return BlockHash(found[0][0]) if found else None

    def block_at(self, height: int) -> BlockRow | None:
        """Return the active chain's block at a height, None outside of it."""
        rows = self.rows_from(height, 1)
        return rows[0] if rows else None

    def rows_from(self, height: int, count: int) -> list[BlockRow]:
        """Return up to `count` blocks of the active chain upwards from a height."""
        return [decode_block_row(row) for row in self._rows(_RANGE, (height, height + count))]

    def stale_rows(self) -> list[BlockRow]:
        """Return every block and header outside the active chain, by height. Looks at the whole index."""
        return [decode_block_row(row) for row in self._rows(_STALE)]

    def highest_without(self, status: int) -> int | None:
        """Return the height of the highest active block above genesis that lost one of these status bits."""
        ((height,),) = self._rows(_LACKING, (status, status))
        return None if height is None else int(height)

    def is_active(self, row: BlockRow) -> bool:
        """Whether the block is in the active chain."""
        return self.hash_at(row.height) == row.hash

    def place(self, row: BlockRow) -> ChainPlace:
        """Return the block's confirmations and its successor in the active chain."""
        found: dict[int, BlockHash] = dict(self._rows(_TWO_HASHES, (row.height, row.height + 1)))
        if found.get(row.height) != row.hash:
            return ChainPlace(-1, None)
        return ChainPlace(self.height() - row.height + 1, found.get(row.height + 1))

    def confirmations(self, row: BlockRow) -> int:
        """Return how many blocks of the active chain confirm this one, itself included; -1 off the active chain."""
        return self.place(row).confirmations

    def next_hash(self, row: BlockRow) -> BlockHash | None:
        """Return the hash of the block's successor in the active chain, None off it and at the tip."""
        return self.place(row).next_hash

    def ancestors(self, row: BlockRow, count: int) -> list[BlockRow]:
        """Return up to `count` blocks backwards from `row`, itself first, on its own branch."""
        found = [row]
        while len(found) < count and row.height > 0:
            if self.is_active(row):
                rest = count - len(found)
                start = max(row.height - rest, 0)
                return found + self.rows_from(start, row.height - start)[::-1]
            parent = self.block(row.prev_hash)
            if parent is None:
                raise StorageError(f"the parent of block {row.hash[::-1].hex()} is missing from the block index")
            found.append(parent)
            row = parent
        return found

    def ancestor(self, row: BlockRow, height: int) -> BlockRow | None:
        """Return the ancestor of `row` (or itself) at a height, None outside 0 to its own height."""
        if not 0 <= height <= row.height:
            return None
        return self.ancestors(row, row.height - height + 1)[-1]

    def median_time_past(self, row: BlockRow) -> int:
        """Return the median of the times of the block and its ten ancestors, in Unix seconds."""
        median = self._medians.get(row.hash)
        if median is None:
            times = sorted(block.time for block in self.ancestors(row, MEDIAN_TIME_SPAN))
            median = times[len(times) // 2]
            if len(self._medians) >= _MEDIANS_KEPT:
                self._medians.clear()
            self._medians[row.hash] = median
        return median

    def stale_part(self, row: BlockRow) -> dict[int, BlockRow]:
        """Return, by height, the blocks of the branch of `row` that are not in the active chain."""
        found = {}
        while not self.is_active(row):
            found[row.height] = row
            row = self.ancestors(row, 2)[-1]
        return found

    def fork(self, row: BlockRow) -> BlockRow:
        """Return the last block of the branch of `row` that is in the active chain; itself if it is."""
        while not self.is_active(row):
            row = self.ancestors(row, 2)[-1]
        return row


def _only(rows: list[Row]) -> BlockRow | None:
    return decode_block_row(rows[0]) if rows else None


def _check_file(path: Path) -> None:
    if not path.exists():
        raise BlockFileError(f"{path}: it is not there")


class ChainReader:
    """Opens a node's databases and files for reading. Safe to use from several threads."""

    def __init__(self, url: str | None, chain_dir: Path, network: Network, *, blocks_dir: Path | None = None) -> None:
        """`url` and `chain_dir` as for `open_database`; `blocks_dir` is by default `<chain_dir>/blocks`.

        Raises ConfigError if there is no database of this network and version.
        """
        self._location = locate(url, chain_dir)
        self._name = self._location.describe(CHAIN.name)
        if self._location.backend is Backend.SQLITE_FILE and not self._location.is_made():
            raise ConfigError(f"No chain here: {self._name} does not exist")
        folder = blocks_dir or chain_dir / "blocks"
        self.block_files = BlockFiles(folder, network.magic)
        self.undo_files = UndoFiles(folder, network.magic)
        self._chain = reader_engine(self._location, CHAIN.name)
        self._coins = reader_engine(self._location, COINS.name)
        self._coin_readers: ActiveCoins | None = None
        try:
            chain_meta = self._check(self._chain, CHAIN, network, None)
            self._check(self._coins, COINS, network, chain_meta["store_id"])
        except ConfigError:
            self.close()
            raise
        self.events = EventLog(self._chain, self._location, chain_meta["log_id"].decode())
        self._coin_readers = ActiveCoins(self._location, self._chain, CoinReader(self._coins, self._location))
        self._medians: dict[BlockHash, int] = {}

    def _check(
        self, engine: Engine, component: Component, network: Network, store_id: bytes | None
    ) -> dict[str, bytes]:
        try:
            with engine.connect() as connection, connection.begin():
                check(connection, component, self._location, network, store_id)
                return read_meta(connection, component)
        except SQLAlchemyError as error:
            name = self._location.describe(component.name)
            raise ConfigError(f"Cannot open the database {failure(name, error)}") from error

    @contextmanager
    def snapshot(self) -> Iterator[ChainSnapshot]:
        """A consistent view of the chain: no tip commit falls between two of its answers. Raises StorageError."""
        with row_snapshot(self._chain, self._location, self._name) as transaction:
            yield ChainSnapshot(transaction, self._medians)

    def snapshot_record(self) -> SnapshotRecord | None:
        """Return what is known of a snapshot of coins that the chain starts from. Raises StorageError."""
        assert self._coin_readers is not None
        return self._coin_readers.record()

    @contextmanager
    def coins(self) -> Iterator[CoinSnapshot]:
        """A consistent view of the flushed coins; its tip may be behind the chain's. Raises StorageError."""
        assert self._coin_readers is not None
        with self._coin_readers.reader().snapshot() as view:
            yield view

    def read_block(self, row: BlockRow) -> bytes:
        """Return the raw block. Raises BlockFileError if it is not stored (any more), damaged or its file missing."""
        if not row.status & HAVE_DATA:
            raise BlockFileError(f"block {row.hash[::-1].hex()} is not stored")
        return self.block_files.read(row.data_position)

    def check_block_file(self, row: BlockRow) -> None:
        """Raise BlockFileError if the block is not stored, or its file is not there any more."""
        if not row.status & HAVE_DATA:
            raise BlockFileError(f"block {row.hash[::-1].hex()} is not stored")
        _check_file(self.block_files.path(row.file))

    def check_undo_file(self, row: BlockRow) -> None:
        """Raise BlockFileError if the block's undo data is not stored, or its file is not there any more."""
        if row.height > 0:
            _check_file(self.undo_files.path(self._stored_undo(row).file))

    def read_spent(self, row: BlockRow) -> bytes:
        """Return the bytes of /rest/spenttxouts/….bin. Raises BlockFileError if they are missing or damaged."""
        if row.height == 0:
            return GENESIS_SPENT
        return self.undo_files.read_spent(self._stored_undo(row), row.hash)

    def read_undo(self, row: BlockRow) -> list[list[Coin]]:
        """Return the coins that each transaction but the coinbase spends. Raises BlockFileError as `read_spent`."""
        if row.height == 0:
            return []
        return self.undo_files.read_undo(self._stored_undo(row), row.hash)

    @staticmethod
    def _stored_undo(row: BlockRow) -> BlockPosition:
        if not row.status & HAVE_UNDO:
            raise BlockFileError(f"the undo data of block {row.hash[::-1].hex()} is not stored")
        return row.undo_position

    def close(self) -> None:
        """Close all connections and descriptors."""
        if self._coin_readers is not None:
            self._coin_readers.close()
        self._chain.dispose()
        self._coins.dispose()
        self.block_files.close()
        self.undo_files.close()

    def __enter__(self) -> "ChainReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
