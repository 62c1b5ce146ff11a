"""The chain thread: every change of the chain happens on it, one after the other.

Owns: the queue of jobs, when their work is committed, and what happens when one fails for our own fault.
Never: what the jobs do.
"""

import gc
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from clarion.node.chain.manager import ChainManager
from clarion.node.errors import ClarionError, StorageError

P = ParamSpec("P")
T = TypeVar("T")

IMPORT_PATIENCE_S = 0.05
POOL_QUIET_S = 0.005
"""How long the thread is idle before it commits rows of the mempool: a commit for each of many would take its time."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Job:
    call: Callable[[], Any]
    future: "Future[Any]"


class ChainService:
    """Runs jobs on the chain thread. A job's future resolves only once what it changed of the chain is durable.

    The mempool is not: where only that has changed, nobody waits for the commit of its rows.
    """

    def __init__(self, manager: ChainManager, on_fatal: Callable[[BaseException], None]) -> None:
        """`on_fatal` hears of errors that the chain can't go on after; it is called once, on the chain thread."""
        self.manager = manager
        self._on_fatal = on_fatal
        self._taken = threading.Condition()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._uncommitted: deque[tuple[Future[Any], Any, int]] = deque()
        """Jobs that are done, with their result and the last row of the log that they may have noted."""
        self._thread = threading.Thread(target=self._run, name="chain", daemon=True)
        self._failed: BaseException | None = None
        self._closed = False

    def start(self) -> None:
        """Start the chain thread."""
        # A flush that fails while the thread has nothing to do must be noticed too.
        self.manager.journal.flusher.on_over = self._look_after_flush
        self._thread.start()

    def _look_after_flush(self) -> None:
        self.submit(self.manager.journal.flusher.check)

    def submit(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run `call` on the chain thread. The future carries its result or its exception."""
        future: Future[T] = Future()
        with self._taken:
            if self._failed is None and not self._closed:
                self._jobs.put(_Job(lambda: call(*args, **kwargs), future))
                return future
        future.set_exception(StorageError(f"the chain has stopped: {self._failed or 'shutting down'}"))
        return future

    def stop(self) -> None:
        """Finish the queued jobs, commit, flush and end the thread. Nobody waits for a tip any longer."""
        with self._taken:
            self._closed = True
            self._jobs.put(None)
        if self._thread.is_alive():
            self._thread.join()
        self.manager.tip_watch.stop()
        self.manager.journal.log_watch.stop()

    def wait_for_room(self, limit: int) -> None:
        """Wait until fewer than `limit` jobs are queued, so that a fast feeder does not fill the memory."""
        with self._taken:
            self._taken.wait_for(lambda: self._jobs.qsize() < limit or self._failed is not None)

    def _next(self) -> _Job | None:
        """Return the next job. While there is none, what is done is committed and the coins are flushed."""
        try:
            job = self._jobs.get(timeout=self._patience_s())
        except queue.Empty:
            self._commit()
            job = self._next_beside_flush()
        with self._taken:
            self._taken.notify_all()
        return job

    def _next_beside_flush(self) -> _Job | None:
        """Return the next job; once there has been none for a moment, the pool catches up and the coins are flushed."""
        flusher = self.manager.journal.flusher
        if not self.manager.state.importing:
            try:
                # The flush is for this node alone: telling what is committed comes first.
                return self._jobs.get(timeout=flusher.patience_s)
            except queue.Empty:
                self.manager.state.pool.catch_up()
                flusher.begin_if_idle()
        return self._jobs.get()

    def _patience_s(self) -> float:
        """How many seconds to wait for the next job before what is done is committed."""
        if self.manager.state.importing:
            # The next block is a moment away; a commit would let the workers run dry.
            return IMPORT_PATIENCE_S
        journal = self.manager.journal
        pool_patience_s = journal.pool_patience_s
        if self._uncommitted or journal.chain_pending or pool_patience_s is None:
            return 0.0
        return min(POOL_QUIET_S, pool_patience_s)

    def _run(self) -> None:
        job: _Job | None = None
        while True:
            try:
                job = self._next()
                if job is None:
                    self._commit()
                    self.manager.journal.flush()
                    return
                self._work(job)
            except BaseException as error:
                self._fail(error, job)
                return

    def _work(self, job: _Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            return
        journal = self.manager.journal
        try:
            result = job.call()
        except StorageError:
            raise
        except (ClarionError, ValueError) as error:
            # The client's fault, or the data's: the chain goes on. What was done before it failed stays done.
            self._uncommitted.append((job.future, error, journal.last_seq))
        else:
            self._uncommitted.append((job.future, result, journal.last_seq))
        journal.tell_early()
        if not journal.pending:
            self._commit()
        elif journal.due:
            self.manager.commit_due()
            self._resolve(journal.durable_seq)
        elif not journal.chain_pending:
            self._resolve()
        if self.manager.state.initial_download:
            # Blocks and coins pile up by the million and hold no cycles: the collector must not walk them again and again.
            gc.freeze()

    def _commit(self) -> None:
        self.manager.commit()
        self._resolve()

    def _resolve(self, seq: int | None = None) -> None:
        """Answer the jobs that are done; with `seq` as far as they noted nothing behind that row."""
        while self._uncommitted and (seq is None or self._uncommitted[0][2] <= seq):
            future, result, _ = self._uncommitted.popleft()
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _fail(self, error: BaseException, job: _Job | None) -> None:
        logger.critical("The chain stops: %s", error, exc_info=not isinstance(error, StorageError))
        with self._taken:
            self._failed = error
            self._taken.notify_all()
        waiting = [future for future, _, _ in self._uncommitted]
        if job is not None:
            waiting.append(job.future)
        while True:
            try:
                queued = self._jobs.get_nowait()
            except queue.Empty:
                break
            if queued is not None:
                waiting.append(queued.future)
        for future in waiting:
            if not future.done():
                future.set_exception(error)
        self.manager.tip_watch.stop()
        self.manager.journal.log_watch.stop()
        self._on_fatal(error)
