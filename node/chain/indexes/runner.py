"""One index following the chain, on a thread of its own behind the tip commit.

Owns: which block an index takes next, reorganisations, commits, and its state as others see it. Never: what an index
stores. A crash at any moment leaves the index at the tip of its last commit, a block that the chain's database knows.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from clarion.node.chain.active_chain import ChainView
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.indexes.index import Index, IndexBatch, IndexedBlock, WorkingIndex
from clarion.node.chain.indexes.jobs import Job, JobQueue
from clarion.node.chain.indexes.recent import RecentDeltas
from clarion.node.chain.manager import ChainManager
from clarion.node.chain.stores import ChainStores
from clarion.node.errors import StorageError
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage import block_status
from clarion.node.storage.index_store import IndexStore, IndexTip

BATCH_BYTES = 16 << 20
BATCH_S = 2.0
"""While an index is built, its changes are committed once they are this large or this old."""
WORK_S = 0.25
"""What an index does beside following the chain is committed when it is this old, and then the tip is looked at."""
LOG_INTERVAL_S = 30.0

logger = logging.getLogger(__name__)


class IndexState(NamedTuple):
    """How far an index is. `height` is that of its last block, -1 in an empty one; `synced` ends when it fails."""

    synced: bool
    height: int


class IndexRunner:
    """The thread of one index. Only `start`, `stop` and what says so may be called from other threads."""

    def __init__(
        self,
        index: Index,
        store: IndexStore,
        manager: ChainManager,
        stores: ChainStores,
        recent: RecentDeltas,
    ) -> None:
        """Raises StorageError if the database can't be read."""
        self.index = index
        self._store = store
        self._working = index if isinstance(index, WorkingIndex) else None
        self._jobs = JobQueue(index.name)
        self._manager = manager
        self._stores = stores
        self._recent = recent
        self._changed = threading.Condition()
        self._entry: BlockIndexEntry | None = None
        self._synced = False
        self._failed = False
        self._stopping = False
        self._woken = False
        self._asked_for = False
        self._thread = threading.Thread(target=self._run, name=index.store_name, daemon=True)
        self._logged = time.monotonic()

    # --- other threads ----------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Find the block at which the index stands. The chain must be loaded. Raises StorageError."""
        tip = self._store.tip()
        if tip is not None:
            self._entry = self._manager.lookup(tip.hash)
            if self._entry is None:
                # Only a chain that was made anew can have forgotten it.
                logger.warning("%s: its last block %s is unknown; built again", self.index.name, hash_to_hex(tip.hash))
                self._store.wipe()
        if self._working is not None:
            batch = self._new_batch()
            self._working.begin(batch, self._manager.state.params)
            if self._entry is None:
                self._working.restart(batch)
            self._store.commit(batch.changes, None if self._entry is None else tip)
        self._synced = self._covers(self._entry, self._manager.validated_tip)

    def start(self) -> None:
        """Begin to follow the chain."""
        self._thread.start()

    def wake(self) -> None:
        """Say that the tip has moved. Returns at once."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def call(self, job: Job) -> "Future[Any]":
        """Have a job done on the index's thread; its result comes when what it changed is durable."""
        result = self._jobs.add(job)
        self.wake()
        return result

    def interrupt(self) -> None:
        """Have the thread end soon; returns at once."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._jobs.close()

    def stop(self) -> None:
        """End the thread; what is done is committed."""
        self.interrupt()
        if self._thread.is_alive():
            self._thread.join()
        self._store.close()

    @property
    def state(self) -> IndexState:
        """How far the index is, durably but for a power cut."""
        with self._changed:
            height = -1 if self._entry is None else self._entry.height
            return IndexState(self._synced and not self._failed, height)

    @property
    def common_height(self) -> int:
        """Height of the last block that the index and the chain share, -1 for an empty index."""
        entry = self.entry
        if entry is None:
            return -1
        with self._manager.state.lock:
            return ChainView(self._manager.validated_tip).find_fork(entry).height

    @property
    def needed_height(self) -> int:
        """Height up to which blocks may be pruned as far as this index is concerned."""
        lowest = None if self._working is None else self._working.lowest_needed
        common = self.common_height
        return common if lowest is None else min(common, lowest)

    @property
    def entry(self) -> BlockIndexEntry | None:
        """The last block that is indexed and committed."""
        with self._changed:
            return self._entry

    def make_durable(self) -> None:
        """Return once `state` outlives a power cut. Raises StorageError."""
        self._store.make_durable()

    def wait_synced(self, tip: BlockIndexEntry) -> bool:
        """Wait until the index holds `tip`; false at once if it is still being built or has failed."""
        with self._changed:
            if not self._synced or self._manager.state.snapshot_base is not None:
                # Over a snapshot the tip's turn comes when the history is validated: nobody waits for that.
                return self._covers(self._entry, tip)
            self._asked_for = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._failed or self._stopping or self._holds(tip))
            return self._holds(tip)

    def _holds(self, tip: BlockIndexEntry) -> bool:
        # A tip that was left meanwhile is never reached: whatever is the tip now is as good.
        return not self._failed and (
            self._covers(self._entry, tip) or self._covers(self._entry, self._manager.validated_tip)
        )

    def _covers(self, entry: BlockIndexEntry | None, tip: BlockIndexEntry) -> bool:
        """Whether an index that stands at `entry` need not move for `tip`.

        As in the reference a block that was only disconnected stays until another takes its place; an index that does
        more than the reference's follows at once.
        """
        if entry is None:
            return False
        if self._working is not None:
            return entry.hash == tip.hash
        with self._manager.state.lock:
            return entry.descends_from(tip)

    # --- the index's thread -----------------------------------------------------------------------------------------

    def _run(self) -> None:
        logger.info("%s thread start", self.index.name)
        try:
            self._follow()
        except Exception as error:
            # An index is no part of the chain: its fault must not stop the node.
            logger.error(
                "%s stops: %s", self.index.name, error, exc_info=None if isinstance(error, StorageError) else error
            )
            with self._changed:
                self._failed = True
                self._changed.notify_all()
        self._jobs.close()
        logger.info("%s thread exit", self.index.name)

    def _follow(self) -> None:
        announced = False
        while not self._stopping:
            self._do_jobs()
            target = self._manager.validated_tip
            if not self._covers(self._entry, target):
                self._wait_for_events()
                self._advance(target)
                continue
            with self._changed:
                self._synced = True
                self._changed.notify_all()
            if not announced:
                announced = True
                logger.info("%s is enabled at height %d", self.index.name, target.height)
            if self._work():
                continue
            with self._changed:
                self._changed.wait_for(lambda: self._woken or self._stopping)
                self._woken = False

    def _wait_for_events(self) -> None:
        """At the tip, leave the processor to those who tell of a new block for a moment, unless somebody waits."""
        if self._working is None or not self._synced or self._entry is None:
            return
        with self._changed:
            self._changed.wait_for(
                lambda: self._asked_for or self._stopping or bool(self._jobs), self._working.patience_s
            )
            self._asked_for = False

    def _do_jobs(self) -> None:
        while not self._stopping and (taken := self._jobs.take()) is not None:
            job, result = taken
            batch = self._new_batch()
            try:
                answer = job(batch, self._place())
            except Exception as error:
                # Whoever asked is told; nothing was stored.
                result.set_exception(error)
                continue
            try:
                self._commit(batch, self._entry)
                self._store.make_durable()
            except Exception as error:
                result.set_exception(error)
                raise
            result.set_result(answer)

    def _work(self) -> bool:
        """Let the index do something of its own; whether there is more."""
        if self._working is None:
            return False
        batch, started, more = self._new_batch(), time.monotonic(), True
        place, tip = self._place(), self._manager.validated_tip
        while more and not self._stopping and time.monotonic() - started < WORK_S:
            more = self._working.work(batch, place)
            if batch.size_bytes > BATCH_BYTES or self._jobs or self._manager.validated_tip is not tip:
                break
        if batch.changes:
            self._commit(batch, self._entry)
        return more

    def _new_batch(self) -> IndexBatch:
        return IndexBatch(self._store)

    def _place(self) -> "_Place":
        return _Place(self._entry, self._manager, self._load)

    def _commit(self, batch: IndexBatch, entry: BlockIndexEntry | None) -> None:
        self._store.commit(batch.changes, None if entry is None else IndexTip(entry.hash, entry.height))

    def _advance(self, target: BlockIndexEntry) -> None:
        """Go towards `target` for as long as one batch lasts, and commit."""
        batch = self._new_batch()
        entry, started = self._entry, time.monotonic()
        while not self._stopping and not self._covers(entry, target):
            entry = self._step(entry, target, batch)
            now = time.monotonic()
            if now - self._logged > LOG_INTERVAL_S:
                self._logged = now
                height = -1 if entry is None else entry.height
                logger.info("Syncing %s with block chain from height %d", self.index.name, height)
            if batch.size_bytes > BATCH_BYTES or now - started > BATCH_S or self._jobs:
                break
        self._commit(batch, entry)
        with self._changed:
            self._entry = entry
            self._changed.notify_all()

    def _step(
        self, entry: BlockIndexEntry | None, target: BlockIndexEntry, batch: IndexBatch
    ) -> BlockIndexEntry | None:
        with self._manager.state.lock:
            on_the_way = entry is None or target.descends_from(entry)
            following = target.ancestor(0 if entry is None else entry.height + 1) if on_the_way else None
        idle = self._working is not None and self._working.is_idle
        if following is not None:
            if not idle:
                self.index.connect(self._load(following), batch)
            return following
        assert entry is not None
        if not idle:
            self.index.disconnect(self._load(entry), batch)
        logger.debug("%s prune lock moved back to %d", self.index.name, entry.height - 1)
        return entry.prev

    def _load(self, entry: BlockIndexEntry) -> IndexedBlock:
        """Return a block with what it spends: from memory where it is at hand, else from the files."""
        delta = self._recent.get(entry.hash)
        with self._manager.state.lock:
            position, undo = entry.data_position, entry.undo_position
        params = self._manager.state.params
        if delta is not None:
            return IndexedBlock(delta.block, entry.height, delta.spent, position, params)
        block = Block.parse(self._stores.block_files.read(position))
        spent: list[list[Coin]] = []
        if self.index.needs_spent and entry.height > 0:
            spent = self._stores.undo_files.read_undo(undo, entry.hash)
        return IndexedBlock(block, entry.height, spent, position, params)


class _Place:
    """Where an index stands (an `IndexPlace`)."""

    def __init__(
        self,
        entry: BlockIndexEntry | None,
        manager: ChainManager,
        load: Callable[[BlockIndexEntry], IndexedBlock],
    ) -> None:
        self._entry = entry
        self._manager = manager
        self._load = load

    @property
    def height(self) -> int:
        return -1 if self._entry is None else self._entry.height

    @property
    def params(self) -> ChainParams:
        return self._manager.state.params

    def has_block(self, height: int) -> bool:
        entry = self._at(height)
        return entry is not None and bool(entry.status & block_status.HAVE_DATA)

    def load(self, height: int) -> IndexedBlock:
        entry = self._at(height)
        assert entry is not None, "only blocks up to the index's own place"
        return self._load(entry)

    def _at(self, height: int) -> BlockIndexEntry | None:
        if self._entry is None:
            return None
        with self._manager.state.lock:
            return self._entry.ancestor(height)


OpenIndex = Callable[[str, bytes], IndexStore]
"""Opens the database of an index by its name; keys that begin with the bytes outlive a reindex."""
