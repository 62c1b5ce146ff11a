"""Writing the coins that changed, behind the tip commit and beside the chain thread.

Owns: when the coins are flushed, and the thread that does it. Never: which coins exist, what a flush writes in SQL.
Everything but the writing itself runs on the chain thread. There is at most one flush under way. It writes the coins of
a committed tip, which stay as they are while the chain goes on; so after a crash the store stands at a block that the
log has told of, and a restart brings it to the tip.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from clarion.node.chain.coins_cache import CoinsCache
from clarion.node.chain.state import ChainState
from clarion.node.chain.stores import ChainStores
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint
from clarion.node.storage.coin_store import CoinStore

QUIET_S = 0.1
"""How long the chain thread is idle before a flush begins: it competes with telling the block to those who wait for it."""
LATE_S = 1.0


class CoinFlusher:
    """Flushes the coins cache of `state` into the store of the active chain's coins."""

    def __init__(self, state: ChainState, stores: ChainStores) -> None:
        self._state = state
        self._stores = stores
        self._behind = False
        self._behind_since = 0.0
        self._closed = False
        self._running: Future[None] | None = None
        self.on_over: Callable[[], None] = lambda: None
        """Called when a flush has ended, well or badly, on its thread. `check` then tells of a failure."""

    def tip_moved(self) -> None:
        """Take note of a commit that moved the tip."""
        if not self._behind:
            self._behind_since = time.monotonic()
        self._behind = True

    def close(self) -> None:
        """Wait for a flush under way and begin none any more. Raises StorageError if the last one failed."""
        self.wait()
        self._closed = True

    @property
    def patience_s(self) -> float:
        """How many seconds the chain thread should be idle before a flush begins; 0 where one is late."""
        return 0.0 if self.is_late else QUIET_S

    @property
    def is_late(self) -> bool:
        """Whether the coins have been behind the tip for so long that a flush should not wait for a quiet moment."""
        return self._behind and time.monotonic() - self._behind_since > LATE_S

    @property
    def due(self) -> bool:
        """Whether a commit with a flush behind it can't be put off any longer.

        Half of the cache is for the coins that a flush is writing, so that the chain can go on meanwhile.
        """
        limit = self._state.options.cache_bytes
        if self._busy:
            return self._state.coins.size_bytes > limit
        return self._state.coins.unflushed_bytes > limit // 2

    @property
    def _busy(self) -> bool:
        return self._running is not None and not self._running.done()

    def begin(self) -> None:
        """Have the coins of the committed tip written; a flush under way is waited for. Raises StorageError."""
        self.wait()
        if not self._behind or self._closed:
            return
        state = self._state
        tip = state.active.tip
        assert tip is state.told_tip, "only what is committed is flushed"
        with state.lock:
            changes = state.coins.begin_flush()
        self._behind = False
        self._running = Future()
        threading.Thread(
            target=self._write,
            args=(self._running, state.coins, self._stores.coins, changes, tip.hash),
            name="coinflush",
            daemon=True,
        ).start()

    def begin_if_idle(self) -> None:
        """Do so unless a flush is under way. Raises StorageError if the last one failed."""
        if not self._busy:
            self.begin()

    def finish(self) -> None:
        """Return once the coins of the committed tip are written. Raises StorageError."""
        self.begin()
        self.wait()

    def wait(self) -> None:
        """Return once no flush is under way. Raises StorageError if the last one failed: then the node can't go on."""
        if self._running is not None:
            self._running.result()

    def check(self) -> None:
        """Raise StorageError if a flush has failed."""
        if not self._busy:
            self.wait()

    def _write(
        self,
        running: "Future[None]",
        coins: CoinsCache,
        store: CoinStore,
        changes: Mapping[OutPoint, Coin | None],
        tip: BlockHash,
    ) -> None:
        try:
            store.flush(changes, tip)
        except BaseException as error:
            running.set_exception(error)
        else:
            coins.end_flush()
            running.set_result(None)
        self.on_over()
