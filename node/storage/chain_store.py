"""The chain database's writer: block index, active chain, settings and the events of each tip commit.

Owns: the tip commit, one durable transaction. Never: a decision about the chain.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy.engine import Connection

from clarion.node.events.row import EventRow
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.block_status import HAVE_UNDO, VALID_MASK, VALID_TRANSACTIONS
from clarion.node.storage.engine import driver_sql
from clarion.node.storage.location import Location
from clarion.node.storage.rows import BlockPage, BlockRow, ChainCommit
from clarion.node.storage.writer import Writer

BLOCK_COLUMNS = (
    "hash, header, height, chainwork, status, tx_count, chain_tx_count, "
    "file, data_pos, data_size, undo_pos, undo_size, sequence_id"
)
_NAMES = BLOCK_COLUMNS.split(", ")
_UPSERT_BLOCK = (
    f"INSERT INTO blocks ({BLOCK_COLUMNS}) VALUES ({', '.join('?' * len(_NAMES))}) "
    f"ON CONFLICT (hash) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _NAMES[1:])}"
)
_CUT_ACTIVE = "DELETE FROM active_chain WHERE height > ?"
_ADD_ACTIVE = "INSERT INTO active_chain (height, hash) VALUES (?, ?)"
_ADD_EVENT = (
    "INSERT INTO event_log (seq, kind, block_hash, height, txid, reason, body, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_SET_META = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_LOAD_PAGE = f"SELECT {BLOCK_COLUMNS} FROM blocks WHERE (height, hash) > (?, ?) ORDER BY height, hash LIMIT ?"
_LOAD_BY_HASH = f"SELECT {BLOCK_COLUMNS} FROM blocks WHERE hash > ? ORDER BY hash LIMIT ?"
_LOAD_ACTIVE = "SELECT hash FROM active_chain WHERE height >= ? ORDER BY height LIMIT ?"
_PAGE = 10_000
_FORGET_CONNECTED = (
    f"UPDATE blocks SET status = (status & ~{VALID_MASK | HAVE_UNDO}) | {VALID_TRANSACTIONS}, undo_pos = 0, "
    f"undo_size = 0 WHERE (status & {VALID_MASK}) > {VALID_TRANSACTIONS} OR (status & {HAVE_UNDO}) <> 0"
)


class ChainStore:
    """The only writer of the chain database. Safe to call from several threads; transactions queue up."""

    def __init__(self, writer: Writer, location: Location) -> None:
        self._writer = writer
        self._upsert_block = driver_sql(location, _UPSERT_BLOCK)
        self._cut_active = driver_sql(location, _CUT_ACTIVE)
        self._add_active = driver_sql(location, _ADD_ACTIVE)
        self._add_event = driver_sql(location, _ADD_EVENT)
        self._set_meta = driver_sql(location, _SET_META)
        self._load_page = driver_sql(location, _LOAD_PAGE)
        self._load_by_hash = driver_sql(location, _LOAD_BY_HASH)
        self._load_active = driver_sql(location, _LOAD_ACTIVE)
        self._read_meta = driver_sql(location, "SELECT value FROM meta WHERE key = ?")
        self._last_seq = int(self._rows("SELECT COALESCE(MAX(seq), 0) FROM event_log")[0][0])
        self._numbering = threading.Lock()

    @property
    def last_seq(self) -> int:
        """Number of the last event that is durable, 0 for an empty log."""
        return self._last_seq

    def commit(self, change: ChainCommit) -> int:
        """Apply a tip commit in one durable transaction and return the log's last seq then.

        While a server is away it takes longer. Raises StorageError; nothing of the change is stored then, unless a
        server went away for good while it was confirming.
        """
        with self._numbering:
            self._last_seq = self._writer.run(lambda connection: self._apply(connection, change))
            return self._last_seq

    def _apply(self, connection: Connection, change: ChainCommit) -> int:
        execute = connection.exec_driver_sql
        if change.blocks:
            execute(self._upsert_block, [encode_block_row(row) for row in change.blocks])
        if change.disconnect_to is not None:
            execute(self._cut_active, (change.disconnect_to,))
        if change.connect:
            execute(self._add_active, [tuple(pair) for pair in change.connect])
        last_seq = self._last_seq
        if change.events:
            execute(self._add_event, _numbered(change.events, last_seq))
            last_seq += len(change.events)
        if change.meta:
            execute(self._set_meta, list(change.meta.items()))
        return last_seq

    def wipe(self, *, keep_blocks: bool, meta: Mapping[str, bytes]) -> None:
        """Empty the active chain and the event log, and set `meta`, in one durable transaction.

        With `keep_blocks` the block index stays, with every block as it was before it was connected; else it goes too.
        """

        def empty(connection: Connection) -> None:
            execute = connection.exec_driver_sql
            execute("DELETE FROM active_chain")
            execute("DELETE FROM event_log")
            execute(_FORGET_CONNECTED if keep_blocks else "DELETE FROM blocks")
            execute(self._set_meta, list(meta.items()))

        with self._numbering:
            self._writer.run(empty)
            self._last_seq = 0

    def load_blocks(self) -> Iterator[BlockRow]:
        """Yield every block and header by height, then hash. Reads in pages: a million of them need little memory."""
        height, last_hash = -1, b""
        while True:
            page = self._rows(self._load_page, (height, last_hash, _PAGE))
            for row in page:
                yield decode_block_row(row)
            if len(page) < _PAGE:
                return
            height, last_hash = page[-1][2], bytes(page[-1][0])

    def count_blocks(self) -> int:
        """Return how many blocks and headers the index has."""
        return int(self._rows("SELECT COUNT(*) FROM blocks")[0][0])

    def block_pages(self) -> Iterator[BlockPage]:
        """Yield every block and header by hash, which is how they lie in the table: several times faster than rows."""
        last_hash = b""
        while page := self._tuples(self._load_by_hash, (last_hash, _PAGE)):
            yield BlockPage(*zip(*page, strict=True))
            last_hash = bytes(page[-1][0])

    def active_pages(self) -> Iterator[bytes]:
        """Yield the active chain's hashes, the genesis block's first, many at a time one behind the other."""
        height = 0
        while page := self._tuples(self._load_active, (height, _PAGE)):
            yield b"".join([row[0] for row in page])
            height += len(page)

    def load_active(self) -> list[BlockHash]:
        """Return the active chain's hashes, the genesis block's first."""
        return [BlockHash(page[at : at + 32]) for page in self.active_pages() for at in range(0, len(page), 32)]

    def read_meta(self, key: str) -> bytes | None:
        """Return a setting's value."""
        rows = self._rows(self._read_meta, (key,))
        return bytes(rows[0][0]) if rows else None

    def _tuples(self, statement: str, parameters: tuple[Any, ...]) -> Sequence[Sequence[Any]]:
        """Return rows as the driver gives them: by the million, SQLAlchemy's cost half as much again."""

        def fetch(connection: Connection) -> Sequence[Sequence[Any]]:
            rows: Sequence[Sequence[Any]] = connection.exec_driver_sql(statement, parameters).cursor.fetchall()
            return rows

        return self._writer.read(fetch)

    def _rows(self, statement: str, parameters: tuple[Any, ...] = ()) -> Sequence[Sequence[Any]]:
        return self._writer.read(lambda connection: connection.exec_driver_sql(statement, parameters).all())


def encode_block_row(row: BlockRow) -> tuple[Any, ...]:
    """Return the row as it is stored: chainwork in 32 big-endian bytes, so that the order of bytes is that of work."""
    return (*row[:3], row.chainwork.to_bytes(32, "big"), *row[4:])


def decode_block_row(row: Sequence[Any]) -> BlockRow:
    """Return a stored row as a BlockRow."""
    return BlockRow(row[0], row[1], row[2], int.from_bytes(row[3], "big"), *row[4:])


def _numbered(events: Sequence[EventRow], last_seq: int) -> list[tuple[Any, ...]]:
    return [
        (seq, int(row.kind), row.block_hash, row.height, row.txid, row.reason, row.body, row.time)
        for seq, row in enumerate(events, last_seq + 1)
    ]
