"""The chain thread: every change of the chain happens on it, one after the other.

Owns: the queue of jobs, when their work is committed, and what happens when one fails for our own fault.
Never: what the jobs do.
"""

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from clarion.node.chain.manager import ChainManager
from clarion.node.errors import ClarionError, StorageError

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Job:
    call: Callable[[], Any]
    future: "Future[Any]"


class ChainService:
    """Runs jobs on the chain thread. A job's future resolves only once what it changed is durable."""

    def __init__(self, manager: ChainManager, on_fatal: Callable[[BaseException], None]) -> None:
        """`on_fatal` hears of errors that the chain can't go on after; it is called once, on the chain thread."""
        self.manager = manager
        self._on_fatal = on_fatal
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._uncommitted: list[tuple[Future[Any], Any]] = []
        self._thread = threading.Thread(target=self._run, name="chain", daemon=True)
        self._failed: BaseException | None = None
        self._closed = False

    def start(self) -> None:
        """Start the chain thread."""
        self._thread.start()

    def submit(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run `call` on the chain thread. The future carries its result or its exception."""
        future: Future[T] = Future()
        if self._failed is not None or self._closed:
            future.set_exception(StorageError(f"the chain has stopped: {self._failed or 'shutting down'}"))
            return future
        self._jobs.put(_Job(lambda: call(*args, **kwargs), future))
        return future

    def stop(self) -> None:
        """Finish the queued jobs, commit, flush and end the thread."""
        self._closed = True
        self._jobs.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                if job is None:
                    self._commit()
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
            self._uncommitted.append((job.future, error))
        else:
            self._uncommitted.append((job.future, result))
        if self._jobs.empty() or journal.due or not journal.pending:
            self._commit()

    def _commit(self) -> None:
        self.manager.commit()
        done, self._uncommitted = self._uncommitted, []
        for future, result in done:
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _fail(self, error: BaseException, job: _Job | None) -> None:
        logger.critical("The chain stops: %s", error, exc_info=not isinstance(error, StorageError))
        self._failed = error
        waiting = [future for future, _ in self._uncommitted]
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
        self._on_fatal(error)
