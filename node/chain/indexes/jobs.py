"""What others ask an index to do, between two blocks on the index's own thread.

Owns: the queue of jobs and their results. Never: when they run, the database.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from clarion.node.chain.indexes.index import IndexBatch, IndexPlace
from clarion.node.errors import StorageError

Job = Callable[[IndexBatch, IndexPlace], Any]
"""Returns its result; what it puts into the batch is committed before anybody gets it. What it raises undoes it."""


class JobQueue:
    """Filled by any thread, emptied by the index's."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._jobs: deque[tuple[Job, Future[Any]]] = deque()
        self._closed = False

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def add(self, job: Job) -> "Future[Any]":
        """Queue a job. The future raises StorageError if the index has stopped or stops before its turn."""
        result: Future[Any] = Future()
        with self._lock:
            if not self._closed:
                self._jobs.append((job, result))
                return result
        result.set_exception(self._stopped())
        return result

    def take(self) -> "tuple[Job, Future[Any]] | None":
        """Return the next job, None if there is none."""
        with self._lock:
            return self._jobs.popleft() if self._jobs else None

    def close(self) -> None:
        """Refuse what waits and what comes."""
        with self._lock:
            self._closed = True
            left, self._jobs = self._jobs, deque()
        for _, result in left:
            result.set_exception(self._stopped())

    def _stopped(self) -> StorageError:
        return StorageError(f"{self._name} has stopped; see debug.log")
