"""Making block and undo files durable, partly beside the chain thread.

Owns: the thread that does it ahead of a commit. Never: what is written, the commit itself.
A full block takes the disk some milliseconds, in which the chain thread can connect it; the commit then finds little left.
"""

import threading
from concurrent.futures import Future

from clarion.node.chain.stores import ChainStores


class FileSync:
    """Syncs what the chain thread appended. Used by the chain thread alone."""

    def __init__(self, stores: ChainStores) -> None:
        self._stores = stores
        self._running: Future[None] | None = None

    def begin(self) -> None:
        """Begin to make durable what was appended so far, unless that is under way. Raises StorageError if it failed."""
        if self._running is not None:
            if not self._running.done():
                return
            self._running.result()
        self._running = Future()
        threading.Thread(target=self._run, args=(self._running,), name="filesync", daemon=True).start()

    def finish(self) -> None:
        """Make everything durable that was appended. Raises StorageError."""
        if self._running is not None:
            self._running.result()
        self._sync()

    def _run(self, running: "Future[None]") -> None:
        try:
            self._sync()
        except Exception as error:
            # The chain thread must hear of it, whatever it is: nothing may be committed on top.
            running.set_exception(error)
        else:
            running.set_result(None)

    def _sync(self) -> None:
        self._stores.block_files.sync()
        self._stores.undo_files.sync()
