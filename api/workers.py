"""The API workers as the node sees them: started, replaced when one dies, stopped.

Owns: the processes. Never: what they do.
"""

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from clarion.api.connection_counts import ConnectionCounts
from clarion.api.idle_worker import IdleWorkers, Task
from clarion.api.settings import ApiSettings

_log = logging.getLogger("clarion.http")

RESTART_DELAY_S = 1.0
POLL_S = 0.5
STOP_TIMEOUT_S = 40.0
LOGGERS = ("clarion", "clarion.http", "clarion.rpc")
"""Loggers whose levels the workers take over from the node."""


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: "Connection[Any, Any]"
    levels: Mapping[str, int]
    reading: threading.Lock = field(default_factory=threading.Lock)
    """While the workers are stopped, the thread that watches them may still be reading what they say."""

    def tell_levels(self, levels: Mapping[str, int]) -> None:
        """Pass on what `logging` changed."""
        if levels != self.levels:
            self.levels = levels
            self.send("levels", levels)

    def send(self, *message: object) -> None:
        """Send a message; a worker that is gone is noticed by its sentinel."""
        with contextlib.suppress(OSError):
            self.pipe.send(message)

    def log(self) -> None:
        """Write the lines that wait in the pipe into the node's log."""
        with contextlib.suppress(EOFError, OSError), self.reading:
            while self.pipe.poll():
                _, name, level, text = self.pipe.recv()
                logging.getLogger(name).log(level, "%s", text)

    def forget(self) -> None:
        """Let go of a process that has ended."""
        self.log()
        self.pipe.close()


def _levels() -> dict[str, int]:
    return {name: logging.getLogger(name).getEffectiveLevel() for name in LOGGERS}


class ApiWorkers:
    """Keeps `count` API processes alive. `start` and `stop` are called by the node's main thread."""

    def __init__(
        self,
        settings: ApiSettings,
        sockets: Sequence[socket.socket],
        control_path: Path,
        count: int,
        idle: IdleWorkers,
    ) -> None:
        """`idle` holds processes that may have been started before."""
        self._settings = settings
        self._sockets = list(sockets)
        self._control_path = control_path
        self._counts = ConnectionCounts(count)
        self._idle = idle
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="api-watch", daemon=True)

    def start(self) -> None:
        """Start the processes and the thread that replaces dead ones."""
        self._workers = [self._spawn(number) for number in range(self._counts.workers)]
        self._watcher.start()

    def _spawn(self, number: int) -> _Worker:
        levels = _levels()
        worker = self._idle.take()
        task = Task(
            self._settings, self._control_path, levels, len(self._sockets), worker=number, workers=self._counts.workers
        )
        worker.assign(task, self._sockets, self._counts)
        return _Worker(worker.process, worker.pipe, levels)

    def _watch(self) -> None:
        while not self._stopping.is_set():
            with self._lock:
                workers = list(self._workers)
            ready = wait([w.process.sentinel for w in workers] + [w.pipe for w in workers], timeout=POLL_S)
            levels = _levels()
            for each in workers:
                each.log()
                each.tell_levels(levels)
                if each.process.sentinel in ready and not self._stopping.is_set():
                    self._replace(each)

    def _replace(self, dead: _Worker) -> None:
        dead.process.join()
        _log.warning("An API worker died with status %s and is replaced", dead.process.exitcode)
        dead.forget()
        number = self._workers.index(dead)
        self._counts.close_worker(number)
        self._stopping.wait(RESTART_DELAY_S)
        with self._lock:
            if not self._stopping.is_set():
                self._workers[number] = self._spawn(number)

    def stop(self) -> None:
        """Let the workers finish their open requests and end; close the port."""
        self._stopping.set()
        with self._lock:
            for each in self._workers:
                each.send("stop")
        # Two threads that read one pipe would tear its messages apart.
        if self._watcher.is_alive():
            self._watcher.join()
        deadline = time.monotonic() + STOP_TIMEOUT_S
        for each in self._workers:
            self._see_off(each, deadline)
        for listener in self._sockets:
            listener.close()
        self._counts.close()

    @staticmethod
    def _see_off(each: _Worker, deadline: float) -> None:
        while each.process.is_alive() and time.monotonic() < deadline:
            # A full pipe would keep the worker from ending.
            wait([each.process.sentinel, each.pipe], timeout=POLL_S)
            each.log()
        if each.process.is_alive():
            each.process.kill()
        each.process.join()
        each.forget()
