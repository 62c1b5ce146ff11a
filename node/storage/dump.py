"""The whole chain into one file: blocks with their undo data, coins, active chain and event log.

Owns: what the chunks hold, and going on where an interrupted dump ended. Never: a database that a node is writing.
Positions in the block files are not part of a dump: the files of the restored chain are its own.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from clarion.node.errors import BlockFileError, ConfigError
from clarion.node.events.row import EventRow
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint
from clarion.node.storage.block_damage import block_name, find_damage
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.block_status import HAVE_DATA, HAVE_UNDO
from clarion.node.storage.chain_store import encode_block_row
from clarion.node.storage.database import Database
from clarion.node.storage.dump_file import DumpWriter, Kind
from clarion.node.storage.migrate import Network
from clarion.node.storage.rebuild_step import Rebuild
from clarion.node.storage.rows import BlockRow
from clarion.node.storage.undo_files import UndoFiles

CHUNK_BYTES = 8 << 20
"""A chunk of blocks ends behind this many bytes: also what a restore repeats after a kill."""

CHUNK_BLOCKS = 2_000
CHUNK_ROWS = 10_000

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with (bytes done, blocks done) since the last call."""


class Dump:
    """Writes a dump. Nobody may write the chain meanwhile."""

    def __init__(
        self,
        database: Database,
        block_files: BlockFiles,
        undo_files: UndoFiles,
        network: Network,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """Raises ConfigError if the chain is being rebuilt, or blocks below a snapshot may be missing."""
        if database.rebuild_step() is not Rebuild.NONE:
            raise ConfigError("The chain is being reindexed: start the node until that is done")
        if database.snapshot_record() is not None:
            raise ConfigError(
                "The chain starts from a snapshot of unspent outputs: start the node until the blocks below it are "
                "validated, and once more"
            )
        self._database = database
        self._block_files = block_files
        self._undo_files = undo_files
        self._network = network
        self._interrupted = interrupted

    def total_bytes(self) -> int:
        """Return roughly how many bytes of blocks and undo data there are."""
        return sum(
            (row.data_size if row.status & HAVE_DATA else 0) + (row.undo_size if row.status & HAVE_UNDO else 0)
            for row in self._database.chain.load_blocks()
        )

    def write(self, path: Path, progress: Progress = lambda done, blocks: None) -> bool:
        """Write the file, or go on with it. Returns False if it was interrupted.

        Raises StorageError, ConfigError; BlockFileError names a block or undo record that is damaged.
        """
        active = self._database.chain.load_active()
        with self._database.coins.snapshot() as coins:
            coins_tip = coins.tip()
            head = {
                "network": self._network.name,
                "magic": self._network.magic,
                "tip": active[-1] if active else b"",
                "coins_tip": coins_tip or b"",
                "log_id": self._database.log_id,
                "last_seq": self._database.chain.last_seq,
            }
            writer = DumpWriter(path, head)
            try:
                for kind, content in self._rest(writer, coins.iterate, active, progress):
                    writer.append(kind, content)
                    if self._interrupted():
                        return False
                writer.finish()
            finally:
                writer.close()
        return True

    def _rest(
        self,
        writer: DumpWriter,
        iterate: Callable[[OutPoint | None], Iterator[tuple[OutPoint, Coin]]],
        active: list[Any],
        progress: Progress,
    ) -> Iterator[tuple[Kind, Any]]:
        """Yield the chunks that an earlier run did not write."""
        last = writer.last
        done = last.kind if last is not None else Kind.HEAD
        last_row = last.content[-1] if last is not None and last.content else None
        if done <= Kind.BLOCKS:
            key = (last_row[0][2], last_row[0][0]) if done == Kind.BLOCKS and last_row else (-1, b"")
            yield from self._blocks(key, progress)
        if done <= Kind.COINS:
            behind = OutPoint(last_row[0]) if done == Kind.COINS and last_row else None
            for coins in _groups(iterate(behind), CHUNK_ROWS):
                yield Kind.COINS, [(outpoint, coin.value, coin.code, coin.script_pubkey) for outpoint, coin in coins]
        if done <= Kind.ACTIVE:
            start = last_row[0] + 1 if done == Kind.ACTIVE and last_row else 0
            for pairs in _groups(enumerate(active[start:], start), CHUNK_ROWS):
                yield Kind.ACTIVE, pairs
        seq = last_row[0] if done == Kind.EVENTS and last_row else 0
        while rows := self._database.events.read(seq, CHUNK_ROWS):
            yield Kind.EVENTS, [encode_event(row) for row in rows]
            seq = rows[-1].seq

    def _blocks(self, behind: tuple[int, bytes], progress: Progress) -> Iterator[tuple[Kind, Any]]:
        chunk: list[tuple[Any, bytes | None, bytes | None]] = []
        size = 0
        for row in self._database.chain.load_blocks():
            raw, undo = self._data(row) if (row.height, row.hash) > behind else (None, None)
            done = len(raw or b"") + len(undo or b"")
            if (row.height, row.hash) <= behind:
                progress(row.data_size + row.undo_size, 1)
                continue
            progress(done, 1)
            chunk.append((encode_block_row(row), raw, undo))
            size += done
            if size >= CHUNK_BYTES or len(chunk) >= CHUNK_BLOCKS:
                yield Kind.BLOCKS, chunk
                chunk, size = [], 0
        if chunk:
            yield Kind.BLOCKS, chunk

    def _data(self, row: BlockRow) -> tuple[bytes | None, bytes | None]:
        raw = undo = None
        try:
            if row.status & HAVE_DATA:
                raw = self._block_files.read(row.data_position)
                reason = find_damage(raw, row.hash)
                if reason is not None:
                    path = self._block_files.path(row.file)
                    raise BlockFileError(f"{path}: the record at offset {row.data_pos} is damaged: {reason}")
            if row.status & HAVE_UNDO:
                undo = self._undo_files.read_record(row.undo_position, row.hash)
        except BlockFileError as error:
            raise BlockFileError(f"{block_name(row)}: {error}") from None
        return raw, undo


def encode_event(row: EventRow) -> tuple[Any, ...]:
    """Return an event row as a dump holds it."""
    return (row.seq, int(row.kind), row.block_hash, row.height, row.time, row.body, row.txid, row.reason)


def _groups(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(rows)
    while group := list(islice(iterator, size)):
        yield group
