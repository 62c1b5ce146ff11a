"""Pruning: deleting old block and undo files, by hand or to stay below a size.

Owns: which files may go, and the order of forgetting and deleting. Never: a file that a reorganisation of 288 blocks,
the coins or an undelivered event may still need.
Runs on the chain thread. A file is deleted only after the commit that forgets its blocks; what a crash leaves behind
is deleted at the next start.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from clarion.node.chain.acceptance import MIN_BLOCKS_TO_KEEP
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.journal import Journal
from clarion.node.chain.state import ChainState
from clarion.node.chain.stores import ChainStores
from clarion.node.storage import block_status
from clarion.node.storage.rows import ChainCommit

PRUNED_KEY = "pruned"
"""Setting of the chain database: the numbers of the files that the last pruning deletes, 4 bytes each."""

BLOCKFILE_CHUNK_BYTES = 16 << 20
UNDOFILE_CHUNK_BYTES = 1 << 20
AVERAGE_BLOCK_BYTES = 1_000_000

TOLD_PATIENCE_S = 0.05

logger = logging.getLogger(__name__)


class PruneLimits(Protocol):
    """What the indexes still need."""

    def prune_limits(self) -> dict[str, int]:
        """Return, by index, the last height that may be pruned."""
        ...

    def make_durable(self) -> None:
        """Return once what the indexes hold outlives a power cut. Raises StorageError."""
        ...


@dataclass(slots=True)
class BlockFileInfo:
    """What the index says of one block file and its undo file. Sizes in bytes."""

    size: int = 0
    undo_size: int = 0
    first_height: int = 2**31
    last_height: int = -1


def has_pruned(stores: ChainStores) -> bool:
    """Whether block files were ever pruned since the index was built."""
    return bool(stores.chain.read_meta(PRUNED_KEY))


class Pruner:
    """Deletes block files of one chain."""

    def __init__(
        self,
        state: ChainState,
        journal: Journal,
        stores: ChainStores,
        target_bytes: int,
        told: Callable[[float], bool] = lambda timeout_s: True,
        indexes: PruneLimits | None = None,
        lane_limits: Callable[[int], Mapping[str, int]] = lambda tip_height: {},
    ) -> None:
        """`target_bytes` 0: by hand only. `told` says whether all events up to now have been handed to subscribers.

        `lane_limits` returns, by lane of delivery, the last height that may be pruned below the tip's.
        """
        self._lane_limits = lane_limits
        self._indexes = indexes
        self._state = state
        self._journal = journal
        self._stores = stores
        self._target = target_bytes
        self._told = told
        self._told_height = 0
        self._checked_file = -1
        self._busy = False
        self._any = has_pruned(stores)

    def prune_height(self, tip: BlockIndexEntry) -> int | None:
        """Return the height of the highest pruned block of the chain that ends in `tip`, None if none is pruned.

        Genesis does not count: it has no undo data. Any thread may call it, without the chain lock.
        """
        entry: BlockIndexEntry | None = tip if self._any else None
        while entry is not None and entry.height > 0:
            if entry.status & block_status.HAVE_MASK != block_status.HAVE_MASK:
                return entry.height
            entry = entry.prev
        return None

    def finish(self) -> None:
        """Delete the files that were forgotten before a crash."""
        named = self._stores.chain.read_meta(PRUNED_KEY) or b""
        files = {int.from_bytes(named[i : i + 4], "big") for i in range(0, len(named), 4)}
        self._unlink(files - self._files().keys())

    def after_commit(self) -> None:
        """Prune if a new block file was begun since the last look and the size is too large."""
        if not self._target or self._busy or self._state.active.height < 0:
            return
        newest = self._stores.block_files.current
        if newest is None or newest == self._checked_file:
            return
        if self._state.told_tip is not self._state.active.tip:
            # The coins must reach the tip first, and can't before all scripts of the blocks ahead have been checked.
            self._journal.want_whole_commit()
            return
        self._checked_file = newest
        self.prune_to_target()

    def prune_to_target(self) -> None:
        """Delete the oldest files until the rest, with room for what comes next, is below the target."""
        state = self._state
        tip = state.active.tip
        if not self._target or tip.height <= state.params.prune_after_height:
            return
        files = self._files()
        usage = sum(info.size + info.undo_size for info in files.values())
        buffer = BLOCKFILE_CHUNK_BYTES + UNDOFILE_CHUNK_BYTES
        chosen: list[int] = []
        if usage + buffer >= self._target:
            best = state.best_header or tip
            if state.initial_download and best.height > tip.height:
                # Each pruning flushes the coins: in initial download it should be rare.
                buffer += AVERAGE_BLOCK_BYTES * (best.height - tip.height)
            for file in self._prunable(files, tip.height):
                if usage + buffer < self._target:
                    break
                chosen.append(file)
                usage -= files[file].size + files[file].undo_size
        logger.debug(
            "target=%dMiB actual=%dMiB diff=%dMiB removed %d blk/rev pairs",
            self._target >> 20,
            usage >> 20,
            (self._target - usage) >> 20,
            len(chosen),
        )
        self._prune(chosen)

    def prune_by_hand(self, height: int) -> int:
        """Delete the files whose blocks are all at or below `height`, and return how many that were."""
        files = self._files()
        chosen = self._prunable(files, height)
        last = min(height, self._state.active.height - MIN_BLOCKS_TO_KEEP)
        logger.info("Prune (Manual): prune_height=%d removed %d blk/rev pairs", last, len(chosen))
        self._prune(chosen)
        return len(chosen)

    def _files(self) -> dict[int, BlockFileInfo]:
        files: dict[int, BlockFileInfo] = {}
        for entry in self._state.index:
            if entry.has_data:
                info = files.setdefault(entry.file, BlockFileInfo())
                info.size = max(info.size, entry.data_pos + entry.data_size)
                info.first_height = min(info.first_height, entry.height)
                info.last_height = max(info.last_height, entry.height)
                if entry.has_undo:
                    info.undo_size = max(info.undo_size, entry.undo_pos + entry.undo_size)
        return dict(sorted(files.items()))

    def _prunable(self, files: dict[int, BlockFileInfo], height: int) -> list[int]:
        """Return the files that may go, the oldest first. Genesis' file may: the reference forgets it too."""
        if self._told(TOLD_PATIENCE_S):
            self._told_height = self._state.active.height
        last = min(height, self._state.active.height - MIN_BLOCKS_TO_KEEP, self._told_height, self._reader_limit())
        newest = max(files, default=0)
        held = self._held_for_history()
        return [
            file for file, info in files.items() if file != newest and info.last_height <= last and file not in held
        ]

    def _held_for_history(self) -> set[int]:
        """Return the files of blocks that have still to be connected below a snapshot, and of the last that were."""
        base, validated = self._state.snapshot_base, self._state.validated_tip
        if base is None or validated is None:
            return set()
        done = validated.height - MIN_BLOCKS_TO_KEEP
        return {entry.file for entry in self._state.index if entry.has_data and done < entry.height <= base.height}

    def _reader_limit(self) -> int:
        """Return the last height that no index and no lane needs any more."""
        limit = self._state.active.height
        limits = dict(self._lane_limits(limit))
        if self._indexes is not None:
            limits |= self._indexes.prune_limits()
        if limits:
            name, lowest = min(limits.items(), key=lambda item: item[1])
            if lowest <= limit:
                limit = lowest
                logger.debug("%s limited pruning to height %d", name, limit)
        return limit

    def _prune(self, chosen: list[int]) -> None:
        if not chosen:
            return
        self._busy = True
        try:
            # The coins reach the tip first: a recovery must not need what is deleted.
            self._journal.commit()
            self._journal.flush()
            self._stores.coins.make_durable()
            if self._indexes is not None:
                self._indexes.make_durable()
            self._forget(set(chosen))
        finally:
            self._busy = False
        self._unlink(set(chosen))

    def _forget(self, chosen: set[int]) -> None:
        state = self._state
        self._any = True
        gone = [entry for entry in state.index if entry.has_data and entry.file in chosen]
        with state.lock:
            for entry in gone:
                self._forget_data(entry)
            named = b"".join(file.to_bytes(4, "big") for file in sorted(chosen))
            rows = [entry.row() for entry in gone]
            self._stores.chain.commit(ChainCommit(blocks=rows, meta={PRUNED_KEY: named}))

    def _forget_data(self, entry: BlockIndexEntry) -> None:
        entry.status &= ~block_status.HAVE_MASK
        entry.file = entry.data_pos = entry.data_size = entry.undo_pos = entry.undo_size = 0
        waiting = self._state.unlinked.get(entry.prev.hash) if entry.prev is not None else None
        if waiting is not None and entry in waiting:
            waiting.remove(entry)

    def _unlink(self, files: set[int]) -> None:
        for file in sorted(files):
            self._stores.block_files.remove(file)
            self._stores.undo_files.remove(file)
            logger.debug("Prune: deleted blk/rev (%05d)", file)
        if files:
            self._stores.block_files.sync()
            self._stores.undo_files.sync()
