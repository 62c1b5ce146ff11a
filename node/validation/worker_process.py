"""One script worker as the node sees it: its process, its pipe, and what it has not answered yet.

Owns: starting and ending the process. Never: what it is sent, or replacing it.
"""

import multiprocessing
from collections import deque
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

from clarion.node.child_process import start_shielded
from clarion.node.validation.worker import SharedPosition, run_worker

T = TypeVar("T")

_JOIN_SECONDS = 5.0

context = multiprocessing.get_context("spawn")


class WorkerProcess(Generic[T]):
    """One process with its pipe. `waiting` holds what it was sent and has not answered, the oldest first."""

    def __init__(self, number: int, first_failure: SharedPosition) -> None:
        """Start the process, which gets ready while the caller goes on."""
        self.number = number
        self.waiting: deque[T] = deque()
        self.pipe: Connection
        self.pipe, child_end = context.Pipe()
        self._process: BaseProcess = context.Process(
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
