"""What changed since the last commit, and the commit itself.

Owns: the order files → tip commit → telling → coins (the commit rule). Never: deciding what changes.
Runs on the chain thread; a failed write raises StorageError and the node stops, with the last commit intact.
"""

import gc
import time
from collections.abc import Callable
from typing import NamedTuple

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.state import ChainState
from clarion.node.chain.stores import ChainStores
from clarion.node.chain.tip_watch import TipWatch
from clarion.node.events.row import EventKind, EventRow, tip_body
from clarion.node.primitives.ids import NULL_HASH, BlockHash
from clarion.node.storage.rows import ChainCommit


class Mark(NamedTuple):
    """A moment between two commits."""

    events: int
    kept_height: int | None
    initial_download: bool


class Journal:
    """Collects event rows and the lowest height that the active chain fell back to; writes them as one commit."""

    def __init__(self, state: ChainState, stores: ChainStores) -> None:
        self._state = state
        self._stores = stores
        self._events: list[EventRow] = []
        self._kept_height: int | None = None
        self._started = time.monotonic()
        self._flushed = True
        self.on_commit: Callable[[int], None] = lambda seq: None
        """Called after each durable commit with the last sequence number, without the chain lock."""
        self.tip_watch = TipWatch()

    def reset(self) -> None:
        """Take the present chain as committed: used once it has been loaded."""
        self._kept_height = self._state.active.height
        self._state.told_tip = self._state.active.tip if self._state.active.height >= 0 else None

    def connected(self, entry: BlockIndexEntry) -> None:
        """Note that `entry` became the tip."""
        self._add(EventKind.BLOCK_CONNECTED, entry)

    def disconnected(self, entry: BlockIndexEntry) -> None:
        """Note that `entry` was taken off the tip."""
        self._kept_height = min(self._kept_height if self._kept_height is not None else -1, entry.height - 1)
        self._add(EventKind.BLOCK_DISCONNECTED, entry)

    def tip_changed(self, fork: BlockIndexEntry | None) -> None:
        """Note the new tip; `fork` is the last block that it shares with the tip before."""
        fork_hash = fork.hash if fork is not None else BlockHash(NULL_HASH)
        body = tip_body(fork_hash, self._state.initial_download)
        self._add(EventKind.TIP_CHANGED, self._state.active.tip, body)

    def mark(self) -> "Mark":
        """Return what `rewind` needs to come back to this moment."""
        return Mark(len(self._events), self._kept_height, self._state.initial_download)

    def rewind(self, mark: "Mark") -> None:
        """Forget what was noted since `mark`, which no commit lies behind."""
        del self._events[mark.events :]
        self._kept_height = mark.kept_height
        self._state.initial_download = mark.initial_download

    def _add(self, kind: EventKind, entry: BlockIndexEntry, body: bytes = b"") -> None:
        if not self._events:
            self._started = time.monotonic()
        now = int(time.time())
        self._events.append(EventRow(kind=kind, block_hash=entry.hash, height=entry.height, time=now, body=body))

    @property
    def pending(self) -> bool:
        """Whether anything waits for a commit."""
        return bool(self._events or self._state.dirty)

    @property
    def due(self) -> bool:
        """Whether the commit can't be put off any longer."""
        options = self._state.options
        if self._state.coins.size_bytes > options.cache_bytes:
            return True
        return bool(self._events) and time.monotonic() - self._started >= options.flush_interval_s

    def sync_files(self) -> None:
        """Make the block and undo files durable. Nothing may refer to them before."""
        self._stores.block_files.sync()
        self._stores.undo_files.sync()

    def commit(self) -> None:
        """Make everything durable: files first, then the tip with its events; tell; then flush the coins.

        In initial download the coins wait until the cache is full or `flush` is called: a restart brings them to the tip.
        """
        if not self.pending:
            return
        state = self._state
        self.sync_files()
        kept = self._kept_height if self._kept_height is not None else -1
        moved = bool(self._events)
        with state.lock:
            seq = self._stores.chain.commit(
                ChainCommit(
                    blocks=state.index.rows(state.dirty),
                    disconnect_to=kept,
                    connect=state.active.hashes_above(kept),
                    events=self._events,
                )
            )
            state.dirty = set()
            self._events = []
            self._kept_height = state.active.height
            state.told_tip = state.active.tip
        if moved:
            self._flushed = False
            self.tip_watch.tip_moved()
            self.on_commit(seq)
            if not state.initial_download or state.coins.size_bytes > state.options.cache_bytes:
                self.flush()
            if state.initial_download:
                # Coins pile up by the million and hold no cycles: the collector must not walk them again and again.
                gc.freeze()

    def flush(self) -> None:
        """Write the changed coins, together with the committed tip that they belong to."""
        if not self._flushed:
            self._state.coins.flush(self._state.active.tip.hash)
            self._flushed = True
