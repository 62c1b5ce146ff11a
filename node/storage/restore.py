"""A dump back into an empty data directory, on either kind of database.

Owns: writing what the chunks hold, and going on where an interrupted restore ended. Never: judging the chain
beyond whether each block is the one of its hash.
"""

from collections.abc import Callable, Sequence
from typing import Any

from clarion.node.errors import ConfigError
from clarion.node.events.row import EventKind, EventRow
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint
from clarion.node.storage.block_damage import block_name, find_damage
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.chain_store import decode_block_row
from clarion.node.storage.database import Database
from clarion.node.storage.dump import Progress
from clarion.node.storage.dump_file import Chunk, DumpReader, Kind
from clarion.node.storage.rows import BlockPosition, BlockRow, ChainCommit
from clarion.node.storage.undo_files import UndoFiles, is_whole_record

RESTORE_KEY = "restore"
"""Setting of a chain database that is being restored: the dump's id and the offset of its next chunk."""


def is_restoring(database: Database) -> bool:
    """Whether a restore into this database was begun and not finished."""
    return bool(database.chain.read_meta(RESTORE_KEY))


class Restore:
    """Restores one dump. Nobody else may use the databases meanwhile."""

    def __init__(
        self,
        dump: DumpReader,
        database: Database,
        block_files: BlockFiles,
        undo_files: UndoFiles,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """Raises ConfigError if there is a chain already, or another dump's."""
        self._dump = dump
        self._database = database
        self._block_files = block_files
        self._undo_files = undo_files
        self._interrupted = interrupted
        self._at = self._begin()

    def _begin(self) -> int:
        chain = self._database.chain
        state = chain.read_meta(RESTORE_KEY)
        if state:
            self._recover_files()
            if state[:32] != self._dump.id:
                raise ConfigError(f"Another dump than {self._dump.path} is being restored here")
            return int.from_bytes(state[32:], "big")
        if next(chain.load_blocks(), None) is not None:
            raise ConfigError(
                f"There is a chain in the database {self._database.name} already: restore into an empty one"
            )
        if numbers := self._block_files.numbers():
            folder = self._block_files.path(numbers[0]).parent
            raise ConfigError(f"There are block files in {folder} already: restore into an empty folder")
        chain.commit(ChainCommit(meta=self._mark(self._dump.start)))
        return self._dump.start

    def _mark(self, offset: int) -> dict[str, bytes]:
        return {RESTORE_KEY: self._dump.id + offset.to_bytes(8, "big")}

    def _recover_files(self) -> None:
        last_block: BlockPosition | None = None
        last_undo: dict[int, BlockPosition] = {}
        for row in self._database.chain.load_blocks():
            if row.data_size and (last_block is None or row.data_position > last_block):
                last_block = row.data_position
            if row.undo_size and row.undo_position > last_undo.get(row.file, (-1,)):
                last_undo[row.file] = row.undo_position
        self._undo_files.recover(last_undo, keep=False)
        if last_block is None:
            for file in self._block_files.numbers():
                self._block_files.remove(file)
        self._block_files.recover(last_block, keep=False)

    def run(self, progress: Progress = lambda done, blocks: None) -> bool:
        """Restore, or go on with it. Returns False if it was interrupted.

        Raises StorageError, and ConfigError for a damaged dump, also where it names a block that was damaged before.
        """
        progress(self._at, 0)
        at = self._at
        for chunk in self._dump.chunks(at):
            if chunk.kind is Kind.END:
                break
            self._write(chunk)
            progress(chunk.end - at, len(chunk.content) if chunk.kind is Kind.BLOCKS else 0)
            at = chunk.end
            if self._interrupted():
                return False
        self._database.chain.commit(ChainCommit(meta={RESTORE_KEY: b""}))
        return True

    def _write(self, chunk: Chunk) -> None:
        content: Sequence[Any] = chunk.content
        blocks: list[BlockRow] = []
        connect: list[tuple[int, BlockHash]] = []
        events: list[EventRow] = []
        if chunk.kind is Kind.BLOCKS:
            blocks = [self._block(*each) for each in content]
            self._block_files.sync()
            self._undo_files.sync()
        elif chunk.kind is Kind.COINS:
            # Writing the same coins twice changes nothing: they need no mark of their own.
            coins = {OutPoint(outpoint): Coin(value, script, code) for outpoint, value, code, script in content}
            self._database.coins.flush(coins, BlockHash(self._dump.head["coins_tip"]))
        elif chunk.kind is Kind.ACTIVE:
            connect = [(height, BlockHash(block_hash)) for height, block_hash in content]
        else:
            events = [_event(each) for each in content]
        meta = self._mark(chunk.end)
        self._database.chain.commit(ChainCommit(blocks=blocks, connect=connect, events=events, meta=meta))

    def _block(self, encoded: Sequence[Any], raw: bytes | None, undo: bytes | None) -> BlockRow:
        row = decode_block_row(encoded)
        reason = None if raw is None else find_damage(raw, row.hash)
        if reason is None and undo is not None and not is_whole_record(undo, row.hash):
            reason = "the checksum of its undo record is wrong"
        if reason is not None:
            raise ConfigError(f"{self._dump.path}: {block_name(row)} is damaged: {reason}")
        data = self._block_files.append(raw) if raw is not None else BlockPosition(0, 0, 0)
        spent = self._undo_files.append_record(data.file, undo) if undo is not None else BlockPosition(0, 0, 0)
        return row._replace(
            file=data.file,
            data_pos=data.offset,
            data_size=data.length,
            undo_pos=spent.offset,
            undo_size=spent.length,
        )


def _event(encoded: Sequence[Any]) -> EventRow:
    seq, kind, block_hash, height, time, body, txid, reason = encoded
    return EventRow(EventKind(kind), BlockHash(block_hash), height, time, body, seq, txid, reason)
