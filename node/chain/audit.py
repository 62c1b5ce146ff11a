"""`clarion db check`: whether what is stored fits together.

Owns: the comparisons of block index, active chain, event log, coins and files. Never: changing anything, consensus.
"""

from collections.abc import Callable, Iterator, Mapping

from clarion.node.consensus.disconnect import disconnect_block, touched_outpoints
from clarion.node.consensus.pow import block_proof
from clarion.node.errors import BlockFileError, DecodeError
from clarion.node.events.row import EventKind, EventRow, read_tip_body
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint, hash_to_hex
from clarion.node.storage import block_status
from clarion.node.storage.block_damage import block_name, find_damage
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.coin_store import CoinSnapshot
from clarion.node.storage.rows import BlockRow
from clarion.node.storage.snapshot_record import SnapshotState

COIN_BLOCKS = 144
"""Blocks below the coins' tip that are disconnected in memory."""

_LOG_PAGE = 10_000

Progress = Callable[[int, int], None]
"""Called with (bytes, blocks) read since the last call."""


def _never() -> bool:
    return False


class Audit:
    """One check of a whole data directory that no node is writing to."""

    def __init__(self, reader: ChainReader, params: ChainParams, interrupted: Callable[[], bool] = _never) -> None:
        """Read block index and active chain. Raises StorageError if the database can't be read."""
        self._reader = reader
        self._params = params
        self._interrupted = interrupted
        self._rows: dict[BlockHash, BlockRow] = {}
        self._active: list[BlockHash] = []
        self._events = 0
        self._coins = 0
        self._read = 0
        self._taken_back = 0
        self._damaged: set[BlockHash] = set()
        """Blocks whose bytes or undo records were noted as unreadable."""
        self._found: list[str] = []
        self._unvalidated_to = -1
        """Height of the snapshot below which blocks may still be missing, -1 where there is none."""
        self._load()

    def total_bytes(self) -> int:
        """Return how many bytes of blocks and undo records will be read."""
        return sum(map(_stored_bytes, self._rows.values()))

    def run(self, progress: Progress = lambda done, blocks: None) -> list[str]:
        """Return one line for each thing that does not fit. Raises StorageError if the database can't be read.

        Whatever is found, everything is looked at, but for the coins' way back, which ends where a block stops it.
        """
        self._check_index()
        self._check_active()
        self._check_log()
        self._check_files(progress)
        if not self._interrupted():
            with self._reader.coins() as coins:
                self._check_coins(coins)
        return self._found

    def summary(self) -> str:
        """Return what was looked at."""
        return (
            f"{len(self._rows)} headers, {len(self._active)} blocks of the active chain, {self._read} stored blocks, "
            f"{self._events} rows of the event log, {self._coins} coins against the last {self._taken_back} blocks"
        )

    def _note(self, text: str) -> None:
        self._found.append(text)

    def _load(self) -> None:
        with self._reader.snapshot() as snapshot:
            self._rows = {row.hash: row for row in snapshot.blocks()}
            self._active = [row.hash for row in snapshot.rows_from(0, snapshot.height() + 1)]
            if len(self._active) != snapshot.height() + 1:
                self._note("the active chain has gaps or names blocks that are not in the block index")
        record = self._reader.snapshot_record()
        if record is not None and record.state is SnapshotState.UNVALIDATED and record.base in self._rows:
            self._unvalidated_to = self._rows[record.base].height

    def _check_index(self) -> None:
        for row in self._rows.values():
            known_count = row.height == self._unvalidated_to
            for reason in _row_problems(row, self._rows, self._params, known_count=known_count):
                self._note(f"{block_name(row)}: {reason}")

    def _check_active(self) -> None:
        before: BlockRow | None = None
        for height, block_hash in enumerate(self._active):
            row = self._rows[block_hash]
            if row.height != height or (before is not None and row.prev_hash != before.hash):
                self._note(f"the active chain is broken at height {height}")
            least = block_status.VALID_TREE if height <= self._unvalidated_to else block_status.VALID_SCRIPTS
            if not block_status.is_valid(row.status, least):
                self._note(f"block {hash_to_hex(block_hash)} of the active chain at height {height} is not valid")
            before = row

    def _check_log(self) -> None:
        chain: list[BlockHash] = []
        seq = 0
        while rows := self._reader.events.read(seq, _LOG_PAGE):
            for row in rows:
                if row.seq != seq + 1:
                    self._note(f"the event log has a gap between rows {seq} and {row.seq}")
                seq = row.seq
                self._events += 1
                if row.kind is EventKind.BLOCK_CONNECTED:
                    if row.height != len(chain):
                        self._note(f"row {seq} of the event log connects height {row.height} upon {len(chain) - 1}")
                    chain.append(row.block_hash)
                elif row.kind is EventKind.BLOCK_DISCONNECTED and (not chain or chain.pop() != row.block_hash):
                    self._note(f"row {seq} of the event log disconnects a block that is not the tip")
                elif row.kind is EventKind.TIP_CHANGED and row.block_hash not in chain[-1:]:
                    self._jump(row, chain)
        if chain != self._active:
            self._note("the event log does not lead to the active chain")

    def _jump(self, row: EventRow, chain: list[BlockHash]) -> None:
        """Follow a tip that a snapshot brought, or took: of the blocks up to it, or down to it, the log says nothing."""
        fork_hash, _ = read_tip_body(row.body)
        path: list[BlockHash] = []
        at: BlockRow | None = self._rows.get(row.block_hash)
        while at is not None and at.hash != fork_hash:
            path.append(at.hash)
            at = self._rows.get(at.prev_hash)
        if at is None or chain[at.height : at.height + 1] != [at.hash]:
            self._note(f"row {row.seq} of the event log names a tip that the rows before do not lead to")
            return
        chain[at.height + 1 :] = path[::-1]

    def _check_coins(self, coins: CoinSnapshot) -> None:
        tip = coins.tip()
        if tip is None:
            # A chain that was never flushed: the next start connects it again.
            return
        row = self._rows.get(tip)
        if row is None:
            self._note(f"the coins belong to block {hash_to_hex(tip)}, which is not in the block index")
            return
        self._coins = coins.count()
        changes: dict[OutPoint, Coin | None] = {}
        for _ in range(COIN_BLOCKS):
            if row.height == 0 or not row.status & block_status.HAVE_UNDO or self._interrupted():
                return
            if not self._take_back(row, coins, changes):
                self._note(
                    f"the coins could not be compared with the blocks from height {row.height} downwards: "
                    f"{block_name(row)} is in the way"
                )
                return
            self._taken_back += 1
            parent = self._rows.get(row.prev_hash)
            if parent is None:
                # Noted by `_check_index`.
                return
            row = parent

    def _take_back(self, row: BlockRow, coins: CoinSnapshot, changes: dict[OutPoint, Coin | None]) -> bool:
        if row.hash in self._damaged:
            return False
        try:
            block = Block.parse(self._reader.read_block(row))
            touched = touched_outpoints(block)
            current = coins.fetch([outpoint for outpoint in touched if outpoint not in changes])
            current.update({key: coin for key in touched if (coin := changes.get(key)) is not None})
            delta = disconnect_block(block, self._reader.read_undo(row), row.height, current=current)
        except (BlockFileError, DecodeError) as error:
            self._note(f"{block_name(row)}: {error}")
            return False
        if delta.unclean:
            self._note(f"{block_name(row)}: the coins are not as the block left them")
            return False
        changes.update(dict.fromkeys(delta.removed))
        changes.update(delta.restored)
        return True

    def _check_files(self, progress: Progress) -> None:
        for row in self._rows.values():
            if not row.status & block_status.HAVE_DATA:
                continue
            if self._interrupted():
                return
            problems = list(self._data_problems(row))
            for problem in problems:
                self._note(f"{block_name(row)}: {problem}")
            if problems:
                self._damaged.add(row.hash)
            self._read += 1
            progress(_stored_bytes(row), 1)

    def _data_problems(self, row: BlockRow) -> Iterator[str]:
        """Yield what is wrong with the block's bytes and, apart from it, with its undo record."""
        try:
            reason = find_damage(self._reader.read_block(row), row.hash)
            if reason is not None:
                path = self._reader.block_files.path(row.file)
                yield f"{path}: the record at offset {row.data_pos} is damaged: {reason}"
        except BlockFileError as error:
            yield str(error)
        if row.status & block_status.HAVE_UNDO:
            try:
                self._reader.read_undo(row)
            except BlockFileError as error:
                yield str(error)


def _stored_bytes(row: BlockRow) -> int:
    data, undo = row.status & block_status.HAVE_DATA, row.status & block_status.HAVE_UNDO
    return (row.data_size if data else 0) + (row.undo_size if data and undo else 0)


def _row_problems(
    row: BlockRow, rows: Mapping[BlockHash, BlockRow], params: ChainParams, *, known_count: bool
) -> list[str]:
    """Return what is wrong with a row. `known_count`: its count of transactions does not follow from its parent's."""
    """Return what is wrong with a row of the block index, seen beside its parent's."""
    header = BlockHeader.parse(row.header)
    found = []
    if header.hash != row.hash:
        found.append("its header has another hash")
    if row.status & block_status.HAVE_UNDO and not row.status & block_status.HAVE_DATA:
        found.append("it has undo data, but no block data")
    parent = rows.get(row.prev_hash)
    if row.hash == params.genesis.hash:
        height, work, linked = 0, block_proof(header.bits), row.tx_count
    elif parent is None:
        return [*found, "its parent is not in the block index"]
    else:
        height, work = parent.height + 1, parent.chainwork + block_proof(header.bits)
        linked = parent.chain_tx_count + row.tx_count if parent.chain_tx_count else 0
        if parent.status & block_status.FAILED_MASK and not row.status & block_status.FAILED_MASK:
            found.append("it is not marked invalid, but its parent is")
    if row.height != height:
        found.append(f"its height should be {height}")
    if row.chainwork != work:
        found.append("its chainwork is wrong")
    if row.chain_tx_count not in (0, linked) and not known_count:
        found.append("its number of transactions up to here is wrong")
    return found
