"""All indexes of a node.

Owns: starting and stopping them, and what is asked of them together. Never: the contents of any.
"""

import logging
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from clarion.node.chain.active_chain import ChainView
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.indexes.index import Index, WorkingIndex
from clarion.node.chain.indexes.jobs import Job
from clarion.node.chain.indexes.recent import RecentDeltas
from clarion.node.chain.indexes.runner import IndexRunner, IndexState, OpenIndex
from clarion.node.chain.manager import ChainManager
from clarion.node.chain.stores import ChainStores
from clarion.node.errors import ConfigError
from clarion.node.storage import block_status

PRUNE_BUFFER = 10
"""Blocks below an index's tip that are kept for a reorganisation (the reference's PRUNE_LOCK_BUFFER)."""

logger = logging.getLogger(__name__)


class Indexes:
    """The indexes by name, in the order in which they were registered."""

    def __init__(self, indexes: Iterable[Index], open_index: OpenIndex) -> None:
        """Open the databases. Raises ConfigError."""
        self._indexes = list(indexes)
        self._stores = [(index, open_index(index.store_name, _kept(index))) for index in self._indexes]
        self._runners: dict[str, IndexRunner] = {}
        self.recent = RecentDeltas()
        """The last blocks that were connected."""

    @property
    def names(self) -> frozenset[str]:
        """The indexes' names."""
        return frozenset(index.name for index in self._indexes)

    def load(self, manager: ChainManager, stores: ChainStores) -> None:
        """Find where each index stands, once the chain is loaded. Raises StorageError."""
        for index, store in self._stores:
            runner = IndexRunner(index, store, manager, stores, self.recent)
            runner.load()
            self._runners[index.name] = runner
            manager.tip_watch.subscribe(runner.wake)
            manager.snapshots.watch.subscribe(runner.wake)
        manager.state.on_settled = self.recent.add

    def check_blocks(self, manager: ChainManager) -> None:
        """Raise ConfigError, in the reference's words, if blocks that an index still needs have been pruned."""
        tip = manager.validated_tip
        for name, runner in self._runners.items():
            undo = runner.index.needs_spent
            wanted = block_status.HAVE_DATA | (block_status.HAVE_UNDO if undo else 0)
            with manager.state.lock:
                reached = runner.entry
                fork = ChainView(tip).find_fork(reached) if reached is not None else None
                last = 0 if fork is None else fork.height
                entry: BlockIndexEntry | None = tip
                while entry is not None and entry.height > last:
                    if entry.status & wanted != wanted:
                        raise _beyond_pruned(name, undo=undo)
                    entry = entry.prev

    def start(self) -> None:
        """Let every index follow the chain."""
        for runner in self._runners.values():
            runner.start()

    def interrupt(self) -> None:
        """Have all threads end soon, and whoever waits for an index go on; returns at once."""
        for runner in self._runners.values():
            runner.interrupt()

    def stop(self) -> None:
        """End all threads and close the databases."""
        self.interrupt()
        for runner in self._runners.values():
            runner.stop()
        if not self._runners:
            for _, store in self._stores:
                store.close()

    def states(self) -> dict[str, IndexState]:
        """Return how far each index is, by its name."""
        return {name: runner.state for name, runner in self._runners.items()}

    def wait_synced(self, name: str, tip: BlockIndexEntry) -> bool:
        """Wait until the index holds `tip`; false if it is not there, still being built, or has failed."""
        runner = self._runners.get(name)
        return runner is not None and runner.wait_synced(tip)

    def find(self, name: str) -> Index | None:
        """Return the index with a name, None if the node has none."""
        return next((index for index in self._indexes if index.name == name), None)

    def call(self, name: str, job: Job) -> "Future[Any]":
        """Have a job done on an index's thread, between two blocks. The index must be there.

        The future's result comes when what the job changed is durable; it raises what the job raises, or StorageError.
        """
        return self._runners[name].call(job)

    def prune_limits(self) -> dict[str, int]:
        """Return, by index, the last height that may be pruned. One that has failed can go on after a restart."""
        return {name: max(1, runner.needed_height - PRUNE_BUFFER - 1) for name, runner in self._runners.items()}

    def make_durable(self) -> None:
        """Return once what the indexes hold outlives a power cut. Raises StorageError."""
        for runner in self._runners.values():
            runner.make_durable()


def _kept(index: Index) -> bytes:
    return index.kept_prefix if isinstance(index, WorkingIndex) else b""


def _beyond_pruned(name: str, *, undo: bool) -> ConfigError:
    data = "pruned data (including undo data)" if undo else "pruned data"
    return ConfigError(
        f"{name} best block of the index goes beyond {data}. Please disable the index or reindex "
        "(which will download the whole blockchain again)\n"
        "Error: A fatal internal error occurred, see debug.log for details: Failed to start indexes, shutting down…"
    )
