"""What changed since the last commit, and the commit itself.

Owns: the order of all rows of the event log, those of the mempool among them, and the order files → tip commit →
telling → coins (the commit rule). Never: deciding what changes, writing coins (see `coin_flusher`).
Runs on the chain thread; a failed write raises StorageError and the node stops, with the last commit intact.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.coin_flusher import CoinFlusher
from clarion.node.chain.file_sync import FileSync
from clarion.node.chain.state import ChainState
from clarion.node.chain.stores import ChainStores
from clarion.node.chain.tip_watch import TipWatch
from clarion.node.events.mempool_rows import BLOCK_REASON, confirmed_body
from clarion.node.events.row import EventKind, EventRow, read_tip_body, tip_body
from clarion.node.primitives.ids import NULL_HASH, BlockHash, Txid
from clarion.node.storage.rows import ChainCommit

POOL_COMMIT_S = 0.05
"""Rows of the mempool wait for company at most this long."""


class Mark(NamedTuple):
    """A moment between two commits."""

    events: int
    connected: int
    chain_rows: int
    logged_tip: BlockIndexEntry | None
    kept_height: int | None
    initial_download: bool
    height: int
    """The tip's."""
    arrivals: int
    """The sequence id of the next block whose data arrives."""

    def since(self, committed: "Mark") -> "Mark":
        """Return the same moment as it is counted once everything before `committed` is written."""
        return self._replace(
            events=self.events - committed.events,
            chain_rows=self.chain_rows - committed.chain_rows,
            kept_height=committed.height,
        )


class Journal:
    """Collects the rows of the event log and how far the active chain fell back; writes them as one commit.

    Rows stand in the order of the reference's signals. Within one step of the chain (its ActivateBestChainStep) that
    is: disconnected blocks; what the connected blocks remove from the mempool; what the mempool gets back and loses
    because of the disconnected ones; only then the connected blocks. The new tip comes last, once for several steps.
    """

    def __init__(self, state: ChainState, stores: ChainStores) -> None:
        self._state = state
        self._stores = stores
        self._events: list[EventRow] = []
        self._connected: list[BlockIndexEntry] = []
        self._confirmed: list[tuple[Txid, int]] = []
        self._early: list[EventRow] = []
        self._chain_rows = self._pool_rows = 0
        self._chain_since = self._pool_since = 0.0
        self._logged_tip: BlockIndexEntry | None = None
        self._kept_height: int | None = None
        self._whole = False
        self.flusher = CoinFlusher(state, stores)
        self.files = FileSync(stores)
        self.settings: dict[str, bytes] = {}
        """Settings of the chain database that the next commit writes with all that waits for it."""
        self.last_seq = stores.chain.last_seq
        """Number of the last row that is noted, durable or not; 0 for an empty log. May be read on any thread."""
        self.on_commit: Callable[[int], None] = lambda seq: None
        """Called after each durable commit of rows with the last sequence number, without the chain lock."""
        self.on_early: Callable[[Sequence[EventRow]], None] = lambda rows: None
        """Called by `tell_early`, with rows of the mempool before which no row of the chain waits: nothing can take them
        back, so they may be told at once. They become durable later, under the numbers that they have."""
        self.on_tips: Callable[[Sequence[BlockHash]], None] = lambda tips: None
        """Called behind a commit with each tip that it tells, but for those of initial download: a batch has several."""
        self.tip_watch = TipWatch()
        self.log_watch = TipWatch()
        """The same for everything that the log tells, durably."""

    def reset(self) -> None:
        """Take the present chain as committed: used once it has been loaded."""
        self._kept_height = self._state.active.height
        self._state.told_tip = self._state.active.tip if self._state.active.height >= 0 else None
        self._logged_tip = self._state.told_tip

    # --- the chain --------------------------------------------------------------------------------------------------

    def connected(self, entry: BlockIndexEntry) -> None:
        """Note that `entry` became the tip. Its row comes with `end_step`."""
        self._count_chain_row()
        self._connected.append(entry)

    def disconnected(self, entry: BlockIndexEntry) -> None:
        """Note that `entry` was taken off the tip."""
        self._kept_height = min(self._kept_height if self._kept_height is not None else -1, entry.height - 1)
        self._count_chain_row()
        self._add_chain_row(EventKind.BLOCK_DISCONNECTED, entry)
        self._logged_tip = entry.prev

    def unconnected(self, entry: BlockIndexEntry) -> None:
        """Note that `entry`, below a snapshot and never told, is off the active chain."""
        assert self._kept_height is not None
        self._kept_height = min(self._kept_height, entry.height - 1)
        self._logged_tip = entry.prev

    def end_step(self) -> None:
        """Log the blocks that were connected since the last step, behind all that they did to the mempool."""
        for entry in self._connected:
            self._add_chain_row(EventKind.BLOCK_CONNECTED, entry)
            self._logged_tip = entry
        self._connected = []

    def tip_changed(self, fork: BlockIndexEntry | None, *, by_snapshot: bool = False) -> None:
        """Note the new tip; `fork` is the last block that it shares with the tip before.

        One that a snapshot brings is told like those of initial download: its block is not there to be shown.
        """
        fork_hash = fork.hash if fork is not None else BlockHash(NULL_HASH)
        self._count_chain_row()
        self._add_chain_row(
            EventKind.TIP_CHANGED,
            self._state.active.tip,
            tip_body(fork_hash, self._state.initial_download or by_snapshot),
        )

    def mark(self) -> "Mark":
        """Return what `rewind` needs to come back to this moment."""
        self._seal_confirmed()
        return Mark(
            len(self._events),
            len(self._connected),
            self._chain_rows,
            self._logged_tip,
            self._kept_height,
            self._state.initial_download,
            self._state.active.height,
            self._state.next_sequence_id,
        )

    def rewind(self, mark: "Mark") -> None:
        """Forget what was noted since `mark`, which no commit lies behind. Rows of the mempool are never among it."""
        dropped = self._events[mark.events :]
        assert not self._confirmed, "the mempool has changed since the mark"
        assert all(row.seq == 0 for row in dropped), "the mempool has changed since the mark"
        del self._events[mark.events :]
        del self._connected[mark.connected :]
        self.last_seq -= len(dropped)
        self._chain_rows = mark.chain_rows
        self._logged_tip = mark.logged_tip
        self._kept_height = mark.kept_height
        self._state.initial_download = mark.initial_download

    def _count_chain_row(self) -> None:
        if not self._chain_rows:
            self._chain_since = time.monotonic()
        self._chain_rows += 1

    def _add_chain_row(self, kind: EventKind, entry: BlockIndexEntry, body: bytes = b"") -> None:
        self._seal_confirmed()
        self._events.append(EventRow(kind, entry.hash, entry.height, int(time.time()), body))
        self.last_seq += 1

    # --- the mempool ------------------------------------------------------------------------------------------------

    def pool_row(self, kind: EventKind, body: bytes, *, txid: Txid | None = None, reason: str | None = None) -> int:
        """Note a change of the mempool and return the row's number. Bodies are those of `events.mempool_rows`.

        The row belongs to the tip that the log has told so far.
        """
        self._seal_confirmed()
        tip = self._logged_tip
        assert tip is not None, "the chain is loaded first"
        if not self._pool_rows:
            self._pool_since = time.monotonic()
        self._pool_rows += 1
        self.last_seq += 1
        row = EventRow(kind, tip.hash, tip.height, int(time.time()), body, self.last_seq, txid, reason)
        self._events.append(row)
        if not self._chain_rows:
            self._early.append(row)
        return self.last_seq

    def tell_early(self) -> None:
        """Let the rows be told that need not wait for their commit. Called when the pool's lock is free again."""
        if self._early:
            rows, self._early = self._early, []
            self.on_early(rows)

    def confirmed(self, txids: Iterable[tuple[Txid, int]]) -> None:
        """Note that transactions, each with its mempool sequence, leave the mempool for a block.

        One row tells of all that follow each other.
        """
        self._confirmed += txids

    def _seal_confirmed(self) -> None:
        if self._confirmed:
            confirmed, self._confirmed = self._confirmed, []
            self.pool_row(EventKind.TX_REMOVED, confirmed_body(confirmed), reason=BLOCK_REASON)

    # --- commits ----------------------------------------------------------------------------------------------------

    @property
    def chain_pending(self) -> bool:
        """Whether a change of the chain waits for a commit."""
        return bool(self._chain_rows or self._state.dirty or self.settings)

    @property
    def pending(self) -> bool:
        """Whether anything waits for a commit."""
        return bool(self._pool_rows or self._confirmed or self.chain_pending)

    @property
    def pool_patience_s(self) -> float | None:
        """How many seconds the rows of the mempool may still wait for company, None where there are none."""
        if not self._pool_rows:
            return None
        return max(0.0, self._pool_since + POOL_COMMIT_S - time.monotonic())

    @property
    def due(self) -> bool:
        """Whether the commit can't be put off any longer."""
        if self.flusher.due or self._whole or self.pool_patience_s == 0.0:
            return True
        waited_s = time.monotonic() - self._chain_since
        return bool(self._chain_rows) and waited_s >= self._state.options.flush_interval_s

    @property
    def divisible(self) -> bool:
        """Whether what waits may be committed up to a mark: there are rows of the chain alone, and no need to flush."""
        return not (self.settings or self._pool_rows or self._confirmed or self._whole or self.flusher.due)

    def want_whole_commit(self) -> None:
        """Have the next commit be made soon, and not up to a mark."""
        self._whole = True

    @property
    def durable_seq(self) -> int:
        """Number of the last row that is committed."""
        return self.last_seq - len(self._events)

    def sync_files(self) -> None:
        """Make the block and undo files durable. Nothing may refer to them before."""
        self.files.finish()

    def commit(self, before: Mark | None = None) -> None:
        """Make everything durable: files first, then the tip with its events; tell; then begin to flush the coins.

        With `before`, what was noted since that mark keeps waiting (see `divisible`), and the coins with it. In initial
        download the coins wait until the cache is full or `flush` is called: a restart brings them to the tip.
        """
        if not self.pending:
            return
        assert not self._connected, "a step is committed once it has ended"
        end = before or self.mark()
        self._whole = self._whole and before is not None
        tips = self._tips(end) if end.chain_rows else []
        if self.chain_pending:
            seq = self._commit_chain(end)
        else:
            seq = self._write(ChainCommit(events=self._events), end)
        if end.chain_rows:
            # Whoever hears of the commit may flush the coins that belong to it.
            self.flusher.tip_moved()
        if end.events:
            # Before the tip is told here: those who wait for events run in another process.
            self.on_commit(seq)
            self.log_watch.tip_moved()
        if end.chain_rows:
            self.tip_watch.tip_moved()
        if tips:
            self.on_tips(tips)
        if end.chain_rows and before is None:
            self._flush_behind()

    def _tips(self, end: Mark) -> list[BlockHash]:
        rows = [row for row in self._events[: end.events] if row.kind is EventKind.TIP_CHANGED]
        return [row.block_hash for row in rows if not read_tip_body(row.body)[1]]

    def _commit_chain(self, end: Mark) -> int:
        state = self._state
        self.sync_files()
        kept = self._kept_height if self._kept_height is not None else -1
        with state.lock:
            # Blocks that came behind the mark are written as headers: after a crash they come again, in their order.
            later = {number for number in state.dirty if state.index.columns.sequence_id[number] >= end.arrivals}
            seq = self._write(
                ChainCommit(
                    blocks=[*state.index.rows(state.dirty - later), *state.index.header_rows(later)],
                    disconnect_to=kept,
                    connect=state.active.hashes_between(kept, end.height),
                    events=self._events[: end.events],
                    meta=self.settings,
                ),
                end,
            )
            self.settings = {}
            state.dirty = later
            self._kept_height = end.height
            state.told_tip = state.active.at(end.height)
        return seq

    def _write(self, change: ChainCommit, end: Mark) -> int:
        """Write a commit. Rows of the mempool alone need no lock of the chain: no reader sees them in memory."""
        seq = self._stores.chain.commit(change)
        del self._events[: end.events]
        assert seq == self.durable_seq, "rows were told under other numbers than they have in the log"
        self._early = []
        self._chain_rows -= end.chain_rows
        self._chain_since = time.monotonic()
        self._pool_rows = 0
        return seq

    def _flush_behind(self) -> None:
        if self.flusher.due:
            self.flusher.begin()
        elif self.flusher.is_late and not self._state.initial_download:
            self.flusher.begin_if_idle()

    def flush(self) -> None:
        """Return once the coins of the committed tip are written. Raises StorageError."""
        self.flusher.finish()
