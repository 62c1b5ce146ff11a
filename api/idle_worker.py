"""An API worker's process from its start until it is told what to serve.

Owns: starting it, and the way its task gets to it. Never: the task.
A worker's imports take as long as those of the node itself. Started before them, it is ready when the node is.
"""

import multiprocessing
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from clarion.api.connection_counts import ConnectionCounts
from clarion.node.child_process import ignore_stop_signals, start_shielded

if TYPE_CHECKING:
    from clarion.api.settings import ApiSettings

_context = multiprocessing.get_context("spawn")


class Task(NamedTuple):
    """What worker number `worker` of `workers` serves: on `sockets` listening sockets, asking the node at `control_path`.

    The sockets follow, and the page where the workers count their connections.
    """

    settings: "ApiSettings"
    control_path: Path
    levels: Mapping[str, int]
    sockets: int
    worker: int
    workers: int


class IdleWorker:
    """A process that imports what it will need, then waits for a task. It ends when the node does."""

    def __init__(self) -> None:
        self.pipe: Connection[Any, Any]
        self.pipe, theirs = _context.Pipe()
        self.process: SpawnProcess = _context.Process(target=_wait, args=(theirs,), name="clarion-api", daemon=True)
        start_shielded(self.process)
        # Once only the child holds its end, the end of either process closes the pipe for the other.
        theirs.close()

    def assign(self, task: Task, sockets: Sequence[socket.socket], counts: ConnectionCounts) -> None:
        """Hand over the task, the sockets and the counts. One that is gone is noticed by whoever watches it."""
        pid = self.process.pid
        assert pid is not None, "it is started when it is made"
        with suppress(OSError):
            self.pipe.send(task)
            for listener in sockets:
                send_handle(self.pipe, listener.fileno(), pid)
            send_handle(self.pipe, counts.descriptor, pid)


class IdleWorkers:
    """Workers that were started early. Close it: some may not have been needed."""

    def __init__(self, count: int) -> None:
        self._workers = [IdleWorker() for _ in range(count)]

    def take(self) -> IdleWorker:
        """Return one of them, or one that is started now."""
        return self._workers.pop() if self._workers else IdleWorker()

    def close(self) -> None:
        """End those that nobody took."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()
        self._workers = []


def _wait(pipe: "Connection[Any, Any]") -> None:
    # Ctrl-C reaches the whole process group; the parent alone decides when to stop.
    ignore_stop_signals()
    from clarion.api.worker import run

    with suppress(EOFError, OSError):
        task: Task = pipe.recv()
        sockets = [socket.socket(fileno=recv_handle(pipe)) for _ in range(task.sockets)]
        counts = ConnectionCounts(task.workers, recv_handle(pipe))
        run(task, sockets, counts, pipe)
