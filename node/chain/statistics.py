"""Keeps the statistics of the last blocks in a database of their own, so that nobody who asks waits for the counting.

Owns: when a block is counted, and storing it. Never: what is counted (`block_statistics`), reading it for clients.

A block is counted on a thread of its own once the tip has rested for a moment: behind the commit, behind the events, and
not between the blocks of a download. What is stored hangs on the block's hash alone, so a reorganisation changes none of
it. A block that is not there is counted by whoever is asked.
"""

import logging
import threading
from typing import Any

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.block_statistics import block_stats, encode_stats
from clarion.node.chain.indexes.recent import RecentDeltas
from clarion.node.chain.manager import ChainManager
from clarion.node.chain.stores import ChainStores
from clarion.node.errors import BlockFileError, StorageError
from clarion.node.primitives.block import Block
from clarion.node.storage import block_status
from clarion.node.storage.index_store import IndexStore, IndexTip

DEPTH = 2016
"""So many blocks below the tip are counted, also those that were connected before the node kept statistics."""

REST_S = 2.0
"""The tip is left alone for so long after it moved: whoever tells of a block needs the processor first, and so does the
next block where they follow each other closely."""

DOWNLOAD_REST_S = 3.0
"""The same in initial download, in which the tip moves every two seconds at least."""

PAUSE_S = 0.5
"""Between two blocks: a full one takes a tenth of a second of the interpreter, which the next block of the chain may need."""

_WANTED = block_status.HAVE_DATA | block_status.HAVE_UNDO

logger = logging.getLogger(__name__)


class StatisticsKeeper:
    """The thread that counts. `start`, `wake`, `interrupt` and `stop` may be called from any."""

    def __init__(self, store: IndexStore) -> None:
        self._store = store
        self._manager: ChainManager
        self._stores: ChainStores
        self._recent: RecentDeltas
        self._changed = threading.Condition()
        self._woken = False
        self._stopping = False
        self._done: BlockIndexEntry | None = None
        self._thread = threading.Thread(target=self._run, name="blockstats", daemon=True)

    def start(self, manager: ChainManager, stores: ChainStores, recent: RecentDeltas) -> None:
        """Begin to follow the chain, which must be loaded."""
        self._manager, self._stores, self._recent = manager, stores, recent
        manager.tip_watch.subscribe(self.wake)
        self._woken = True
        self._thread.start()

    def wake(self) -> None:
        """Say that the tip has moved. Returns at once."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def interrupt(self) -> None:
        """Have the thread end soon; returns at once."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def stop(self) -> None:
        """End the thread and close the database."""
        self.interrupt()
        if self._thread.is_alive():
            self._thread.join()
        self._store.close()

    # --- the keeper's thread ----------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._wait_for_rest():
                self._follow(self._manager.tip)
        except StorageError as error:
            # Nothing hangs on it: who asks counts for himself.
            logger.warning("Statistics of blocks are not stored any more: %s", error)

    def _wait_for_rest(self) -> bool:
        """Wait until the tip has moved and rests; false once the thread is to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._woken or self._stopping)
            while self._woken and not self._stopping:
                self._woken = False
                rest_s = DOWNLOAD_REST_S if self._manager.initial_download else REST_S
                self._changed.wait_for(lambda: self._woken or self._stopping, rest_s)
            return not self._stopping

    def _follow(self, tip: BlockIndexEntry) -> None:
        """Store what is missing of the last blocks, the last first, until the tip moves."""
        for entry in self._missing(tip):
            with self._changed:
                if self._changed.wait_for(lambda: self._woken or self._stopping, PAUSE_S):
                    return
            stats = self._count(entry)
            if stats is not None:
                self._store.commit({entry.hash: encode_stats(stats)}, IndexTip(entry.hash, entry.height))
        self._done = tip

    def _missing(self, tip: BlockIndexEntry) -> list[BlockIndexEntry]:
        found: list[BlockIndexEntry] = []
        with self._manager.state.lock:
            # Below what was done whole, nothing is missing.
            bottom = self._done if self._done is not None and tip.descends_from(self._done) else None
            entry: BlockIndexEntry | None = tip
            while entry is not None and entry is not bottom and len(found) < DEPTH:
                found.append(entry)
                entry = entry.prev
        stored = self._store.get_many([entry.hash for entry in found])
        return [entry for entry in found if entry.hash not in stored]

    def _count(self, entry: BlockIndexEntry) -> dict[str, Any] | None:
        """Return a block's statistics, None if it is pruned."""
        delta = self._recent.get(entry.hash)
        if delta is not None:
            return block_stats(delta.block, delta.spent, entry.height)
        with self._manager.state.lock:
            status, position, undo = entry.status, entry.data_position, entry.undo_position
        if status & _WANTED != _WANTED and entry.height:
            return None
        try:
            block = Block.parse(self._stores.block_files.read(position))
            spent = self._stores.undo_files.read_undo(undo, entry.hash) if entry.height else []
        except BlockFileError:
            # Pruned meanwhile.
            return None
        return block_stats(block, spent, entry.height)
