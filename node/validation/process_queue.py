"""Checks scripts in worker processes.

Owns: the workers, feeding them, replacing one that died. Never: how work is cut or encoded.
Runs on its caller's thread, which waits for pipes only. Two batches are on their way to each worker, so that it has the
next one when it answers.
"""

import ctypes
import logging
import multiprocessing
import threading
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import RawValue
from typing import Any

from clarion.node.child_process import start_shielded
from clarion.node.consensus.connect import ScriptJob
from clarion.node.errors import ClarionError
from clarion.node.validation.batches import NO_FAILURE, Batch, Claims, make_batches
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.inline_queue import Found
from clarion.node.validation.wire import decode_answer, encode_batch
from clarion.node.validation.worker import SharedPosition, run_worker

logger = logging.getLogger(__name__)

IN_FLIGHT = 2
MAX_BATCH_BYTES = 48 << 10
"""Two of these fit in a pipe, so that sending the second never waits for the first to be checked."""
MAX_DEATHS = 10
"""More workers than this dying in one block is no accident."""
_JOIN_SECONDS = 5.0

_context = multiprocessing.get_context("spawn")


class ProcessQueue:
    """`workers` processes that get `batch` checks at a time."""

    def __init__(self, workers: int, batch: int) -> None:
        self._count = workers
        self._batch = batch
        self._workers: list[_Worker] = []
        self._first_failure: Any = RawValue(ctypes.c_longlong, NO_FAILURE)
        self._lock = threading.Lock()

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the running workers."""
        return [worker.pid for worker in self._workers]

    def start(self) -> None:
        """Start the workers; they get ready while the caller goes on."""
        while len(self._workers) < self._count:
            self._workers.append(_Worker(len(self._workers), self._first_failure))

    def check(self, jobs: Sequence[ScriptJob], flags: int) -> ScriptFailure | None:
        """Run the scripts of all inputs of `jobs` under `flags`. Raises ClarionError if workers keep dying."""
        with self._lock:
            self.start()
            self._first_failure.value = NO_FAILURE
            batches = make_batches(jobs, self._batch, MAX_BATCH_BYTES)
            try:
                found = _Run(self._workers, Claims(batches), flags, self._first_failure).finish()
            except BaseException:
                # Workers that still have batches of this block must not answer for the next one.
                self._end_workers()
                raise
        return found.failure if found else None

    def close(self) -> None:
        """End the workers and wait for them."""
        with self._lock:
            self._end_workers()

    def _end_workers(self) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.pipe.close()
        for worker in workers:
            worker.join()


class _Worker:
    """One process with its pipe. `waiting` holds the batches that it has not answered, the oldest first."""

    def __init__(self, number: int, first_failure: SharedPosition) -> None:
        self.number = number
        self.waiting: deque[Batch] = deque()
        self.pipe: Connection
        self.pipe, child_end = _context.Pipe()
        self._process: BaseProcess = _context.Process(
            target=run_worker, args=(child_end, first_failure), name=f"clarion-script-{number}", daemon=True
        )
        try:
            start_shielded(self._process)
        finally:
            child_end.close()

    @property
    def pid(self) -> int:
        """The process id."""
        pid = self._process.pid
        assert pid is not None, "a worker is started when it is made"
        return pid

    def join(self) -> None:
        """Wait for the process; one that does not end by itself is killed."""
        self._process.join(_JOIN_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


class _Run:
    """One block's checks."""

    def __init__(self, workers: list[_Worker], claims: Claims, flags: int, first_failure: SharedPosition) -> None:
        self._workers = workers
        self._claims = claims
        self._flags = flags
        self._first_failure = first_failure
        self._again: deque[Batch] = deque()
        self._found: Found | None = None
        self._deaths = 0

    def finish(self) -> Found | None:
        """Feed all workers until every batch is answered; return the first failure."""
        for _ in range(IN_FLIGHT):
            for worker in list(self._workers):
                self._feed(worker)
        while busy := {worker.pipe: worker for worker in self._workers if worker.waiting}:
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                self._answer(busy[pipe])
        return self._found

    def _answer(self, worker: _Worker) -> None:
        try:
            message = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            self._replace(worker)
            return
        worker.waiting.popleft()
        found = decode_answer(message)
        if found is not None and (self._found is None or found < self._found):
            self._found = found
        self._feed(worker)

    def _feed(self, worker: _Worker) -> None:
        batch = self._next()
        if batch is None:
            return
        worker.waiting.append(batch)
        try:
            worker.pipe.send_bytes(encode_batch(batch, self._flags))
        except OSError:
            self._replace(worker)

    def _next(self) -> Batch | None:
        batch = self._again.popleft() if self._again else self._claims.claim()
        # Nothing behind a failed check matters any more. What was claimed before it is checked to its end.
        if batch is not None and self._found is not None and batch[0].position + batch[0].first > self._found.position:
            return self._next() if self._again else None
        return batch

    def _replace(self, dead: _Worker) -> None:
        """Put a new worker in a dead one's place and have its batches checked again."""
        self._deaths += 1
        logger.warning("Script worker %d (pid %d) died; starting another", dead.number, dead.pid)
        if self._deaths > MAX_DEATHS:
            raise ClarionError(f"{self._deaths} script workers died while checking one block")
        self._again.extend(dead.waiting)
        dead.waiting.clear()
        dead.pipe.close()
        dead.join()
        fresh = _Worker(dead.number, self._first_failure)
        self._workers[self._workers.index(dead)] = fresh
        for _ in range(IN_FLIGHT):
            self._feed(fresh)
