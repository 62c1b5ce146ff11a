"""Checks scripts in worker processes.

Owns: the thread that feeds them, and their lives. Never: how work is cut or encoded, which worker gets what (`stream`).
The thread waits for pipes only, and takes the next block's checks while the workers are still busy with the last.
"""

import contextlib
import ctypes
import os
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from multiprocessing.sharedctypes import RawValue
from typing import Any

from clarion.node.consensus.connect import ScriptJob
from clarion.node.errors import ClarionError
from clarion.node.validation.batches import NO_FAILURE, make_batches
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.stream import MAX_BATCH_BYTES, BlockChecks, Stream, Worker
from clarion.node.validation.worker_process import WorkerProcess


class ProcessQueue:
    """`workers` processes that get `batch` checks at a time."""

    def __init__(self, workers: int, batch: int) -> None:
        self._count = workers
        self._batch = batch
        self._workers: list[Worker] = []
        self._first_failure: Any = RawValue(ctypes.c_longlong, NO_FAILURE)
        self._inbox: queue.SimpleQueue[BlockChecks | None] = queue.SimpleQueue()
        self._wake_end, self._waking_end = os.pipe()
        os.set_blocking(self._wake_end, False)
        os.set_blocking(self._waking_end, False)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the running workers."""
        return [worker.pid for worker in self._workers]

    def start(self) -> None:
        """Start the workers; they get ready while the caller goes on."""
        while len(self._workers) < self._count:
            self._workers.append(WorkerProcess(len(self._workers), self._first_failure))

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        """Return the coming result of the scripts of all inputs of `jobs` under `flags`.

        Blocks are checked in the order in which they are submitted. The future has a ClarionError if workers keep
        dying.
        """
        block = BlockChecks(make_batches(jobs, self._batch, MAX_BATCH_BYTES), flags)
        with self._lock:
            if self._closed:
                raise ClarionError("the script workers have been ended")
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="scripts", daemon=True)
                self._thread.start()
            self._inbox.put(block)
            with contextlib.suppress(BlockingIOError):
                os.write(self._waking_end, b"\0")
        return block.future

    def check(self, jobs: Sequence[ScriptJob], flags: int) -> ScriptFailure | None:
        """Run the scripts of all inputs of `jobs` under `flags`. Raises ClarionError if workers keep dying."""
        return self.submit(jobs, flags).result()

    def close(self) -> None:
        """Finish what was submitted, end the workers and wait for them."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._inbox.put(None)
        if self._thread is not None:
            self._thread.join()
        self._end_workers()
        os.close(self._wake_end)
        os.close(self._waking_end)

    def _serve(self) -> None:
        while (block := self._inbox.get()) is not None:
            if self._work_from(block):
                return

    def _work_from(self, first: BlockChecks) -> bool:
        """Check blocks until there is none left; return whether the queue is to end."""
        stream: Stream | None = None
        ending = False
        try:
            self.start()
            stream = Stream(self._workers, self._first_failure, self._wake_end)
            stream.add(first)
            while stream.busy:
                with contextlib.suppress(queue.Empty):
                    while not ending:
                        block = self._inbox.get_nowait()
                        if block is None:
                            ending = True
                        else:
                            stream.add(block)
                stream.step()
        except BaseException as error:
            # Workers that still have batches of these blocks must not answer for the next one.
            self._end_workers()
            for block in stream.blocks if stream is not None else [first]:
                block.future.set_exception(error)
        finally:
            if stream is not None:
                stream.close()
        return ending

    def _end_workers(self) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.pipe.close()
        for worker in workers:
            worker.join()
