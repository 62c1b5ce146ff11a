"""The API workers as the node sees them: started, replaced when one dies, stopped.

Owns: the processes. Never: what they do.
"""

import contextlib
import logging
import multiprocessing
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from clarion.api import worker
from clarion.api.settings import ApiSettings

_log = logging.getLogger("clarion.http")

RESTART_DELAY_S = 1.0
STOP_TIMEOUT_S = 40.0


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection


class ApiWorkers:
    """Keeps `count` API processes alive. `start` and `stop` are called by the node's main thread."""

    def __init__(self, settings: ApiSettings, sockets: Sequence[socket.socket], control_path: Path, count: int) -> None:
        self._settings = settings
        self._sockets = list(sockets)
        self._control_path = control_path
        self._count = count
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="api-watch", daemon=True)

    def start(self) -> None:
        """Start the processes and the thread that replaces dead ones."""
        self._workers = [self._spawn() for _ in range(self._count)]
        self._watcher.start()

    def _spawn(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=worker.run,
            args=(self._settings, self._sockets, self._control_path, theirs),
            name="clarion-api",
            daemon=True,
        )
        process.start()
        # Once only the child holds its end, the end of either process closes the pipe for the other.
        theirs.close()
        return _Worker(process, ours)

    def _watch(self) -> None:
        while not self._stopping.is_set():
            with self._lock:
                sentinels = {w.process.sentinel: w for w in self._workers}
            for sentinel in wait(list(sentinels), timeout=0.5):
                if self._stopping.is_set():
                    return
                dead = sentinels[sentinel]  # type: ignore[index]
                _log.warning("An API worker died with status %s and is replaced", dead.process.exitcode)
                dead.pipe.close()
                time.sleep(RESTART_DELAY_S)
                with self._lock:
                    if not self._stopping.is_set():
                        self._workers[self._workers.index(dead)] = self._spawn()

    def stop(self) -> None:
        """Let the workers finish their open requests and end; close the port."""
        self._stopping.set()
        with self._lock:
            for each in self._workers:
                with contextlib.suppress(OSError):
                    each.pipe.send_bytes(b"stop")
        deadline = time.monotonic() + STOP_TIMEOUT_S
        for each in self._workers:
            each.process.join(max(0.0, deadline - time.monotonic()))
            if each.process.is_alive():
                each.process.kill()
                each.process.join()
            each.pipe.close()
        for listener in self._sockets:
            listener.close()
        if self._watcher.is_alive():
            self._watcher.join()
