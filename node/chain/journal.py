"""What changed since the last commit, and the commit itself.

Owns: the order files → tip commit → telling → coins (the commit rule). Never: deciding what changes.
Runs on the chain thread; a failed write raises StorageError and the node stops, with the last commit intact.
"""

import time
from collections.abc import Callable

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.state import ChainState
from clarion.node.chain.stores import ChainStores
from clarion.node.events.row import EventKind, EventRow, tip_body
from clarion.node.primitives.ids import NULL_HASH, BlockHash
from clarion.node.storage.rows import ChainCommit


class Journal:
    """Collects event rows and the lowest height that the active chain fell back to; writes them as one commit."""

    def __init__(self, state: ChainState, stores: ChainStores) -> None:
        self._state = state
        self._stores = stores
        self._events: list[EventRow] = []
        self._kept_height: int | None = None
        self._started = time.monotonic()
        self.on_commit: Callable[[int], None] = lambda seq: None
        """Called after each durable commit with the last sequence number, without the chain lock."""

    def reset(self) -> None:
        """Take the present chain as committed: used once it has been loaded."""
        self._kept_height = self._state.active.height

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

    def commit(self) -> None:
        """Make everything durable: files first, then the tip with its events; tell; then flush the coins."""
        if not self.pending:
            return
        state = self._state
        self._stores.block_files.sync()
        self._stores.undo_files.sync()
        kept = self._kept_height if self._kept_height is not None else -1
        moved = bool(self._events)
        with state.lock:
            seq = self._stores.chain.commit(
                ChainCommit(
                    blocks=[entry.row() for entry in state.dirty.values()],
                    disconnect_to=kept,
                    connect=state.active.hashes_above(kept),
                    events=self._events,
                )
            )
            state.dirty = {}
            self._events = []
            self._kept_height = state.active.height
        if moved:
            self.on_commit(seq)
            self.flush()

    def flush(self) -> None:
        """Write the changed coins, together with the tip that they belong to."""
        self._state.coins.flush(self._state.active.tip.hash)
