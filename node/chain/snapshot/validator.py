"""The thread that has the history below a snapshot validated, block by block, behind everything else.

Owns: reading blocks ahead of the chain thread, when what is done is made durable, and comparing the coins at the end. Never:
connecting blocks (`background`), what follows from the result (`snapshots`).
It can be interrupted or killed at any moment; the next start goes on from the last coins that were flushed.
"""

import logging
import threading
import time
from collections import deque
from concurrent.futures import Future

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.connector import read_block
from clarion.node.chain.service import ChainService
from clarion.node.chain.snapshot.background import Background
from clarion.node.chain.snapshot.loading import Interrupted, hash_coins
from clarion.node.chain.stores import ChainStores
from clarion.node.consensus.block_check import check_block
from clarion.node.errors import BlockInvalid, StorageError
from clarion.node.primitives.ids import hash_to_hex

QUEUED = 8
"""Blocks that may wait for the chain thread."""

SETTLE_S = 2.0
"""What is validated is made durable once it is this old."""

FLUSH_S = 600.0
"""The coins are flushed this often at least, so that a restart has little to do again."""

IDLE_S = 0.1
"""How often to look for the next block."""

logger = logging.getLogger(__name__)


class BackgroundValidator:
    """Brings the validation of the history to its end. `start`, `interrupt` and `stop` may be called on any thread."""

    def __init__(self, service: ChainService, stores: ChainStores) -> None:
        self._service = service
        self._snapshots = service.manager.snapshots
        self._stores = stores
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._background: Background
        self._queued: deque[Future[None]] = deque()
        self._settled_at = self._flushed_at = 0.0

    def start(self) -> None:
        """Begin, if there is a history to validate."""
        background = self._snapshots.background
        if background is None or self._stopping.is_set():
            return
        self._background = background
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)
        self._thread.start()

    def interrupt(self) -> None:
        """Have the thread end soon; returns at once."""
        self._stopping.set()

    def stop(self) -> None:
        """End the thread; what is validated is durable then, and flushed."""
        self.interrupt()
        if self._thread is not None:
            self._thread.join()

    # --- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._settled_at = self._flushed_at = time.monotonic()
        try:
            while not self._stopping.is_set():
                if self._step():
                    continue
                if self._background.reached and not self._queued:
                    self._compare()
                    return
                self._stopping.wait(IDLE_S)
            self._flush()
        except Interrupted:
            logger.info("[snapshot] the comparison of the coins was interrupted; the next start makes it again")
        except StorageError as error:
            # The chain thread has failed and says so; or the node stops and it takes no more work.
            logger.debug("[snapshot] validation of the history ends: %s", error)

    def _step(self) -> bool:
        """Do the next thing; False if there is nothing to do."""
        if self._look_for_failure():
            return False
        if self._background.off_path() is not None:
            self._drain()
            self._service.submit(self._background.step_back).result()
            return True
        moved = self._queue_blocks()
        if time.monotonic() - self._settled_at > SETTLE_S or (not moved and self._background.tip is not self._told):
            self._settle()
        if self._background.cache_full or time.monotonic() - self._flushed_at > FLUSH_S:
            self._flush()
        return moved

    @property
    def _told(self) -> BlockIndexEntry | None:
        return self._service.manager.state.validated_tip

    def _queue_blocks(self) -> bool:
        """Hand blocks to the chain thread for as long as there are some; whether there were any."""
        at, started = self._background.tip, time.monotonic()
        any_queued = False
        while not self._stopping.is_set() and not self._background.failure and not self._background.cache_full:
            entry = self._background.following(at)
            if entry is None or time.monotonic() - started > SETTLE_S:
                break
            block = read_block(self._stores.block_files, entry)
            try:
                check_block(block, self._service.manager.state.params)
            except BlockInvalid as invalid:
                raise self._damaged(entry, invalid) from None
            self._queued.append(self._service.submit(self._background.connect, entry, block))
            while len(self._queued) > QUEUED:
                self._queued.popleft().result()
            at, any_queued = entry, True
        self._drain()
        return any_queued

    def _damaged(self, entry: BlockIndexEntry, invalid: BlockInvalid) -> StorageError:
        # It passed this check before it was stored: the disk has changed it since.
        error = StorageError(f"block {hash_to_hex(entry.hash)} in file {entry.file} is damaged: {invalid}")
        self._service.submit(_raise, error)
        return error

    def _drain(self) -> None:
        while self._queued:
            self._queued.popleft().result()

    def _settle(self) -> None:
        """Make durable what is known of the blocks, and show it."""
        self._drain()
        tip = self._service.submit(self._background.settle).result()
        self._settled_at = time.monotonic()
        if tip is not None:
            self._service.submit(self._snapshots.validated_to, tip).result()

    def _flush(self) -> None:
        self._settle()
        self._flushed_at = time.monotonic()
        changes = self._service.submit(self._background.begin_flush).result()
        if changes is None:
            return
        # On this thread: the chain goes on meanwhile.
        self._background.store.flush(changes, self._background.tip.hash)
        self._background.end_flush()

    # --- the end ----------------------------------------------------------------------------------------------------

    def _look_for_failure(self) -> bool:
        """Give the snapshot up if a block below it is invalid."""
        background = self._background
        with self._service.manager.state.lock:
            condemned = background.base.failed
        if background.failure is None and not condemned:
            return False
        self._drain()
        reason = background.failure or "a block below it was found invalid"
        self._service.submit(self._snapshots.give_up, f"the chain below it is invalid ({reason})").result()
        return True

    def _compare(self) -> None:
        """Compare the coins that the history led to with those that the parameters name."""
        self._flush()
        if self._look_for_failure():
            return
        base = self._background.base
        data = self._service.manager.state.params.assume_utxo_of(base.hash)
        logger.info("[snapshot] computing the hash of the validated coins at height %d", base.height)
        found = hash_coins(self._background.store, self._stopping.is_set)
        expected = None if data is None else data.hash_serialized
        if found == expected:
            self._service.submit(self._snapshots.complete).result()
            return
        wanted = "nothing, as this program does not know the block" if expected is None else hash_to_hex(expected)
        logger.warning("[snapshot] hash mismatch: actual=%s, expected=%s", hash_to_hex(found), wanted)
        self._service.submit(self._snapshots.give_up, f"its hash should be {hash_to_hex(found)}, not {wanted}").result()


def _raise(error: StorageError) -> None:
    raise error
