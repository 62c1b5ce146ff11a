"""The events process, seen from the node.

Owns: the child's life (start, wake, restart after a crash, stop) and the node's ends of the pipes. Never: delivery.
Three pipes: one byte in the first wakes the child, which then reads the log itself, so a wake can neither block nor
pile up; the second carries requests and answers; the third, what is not durable yet. The child exits when they
close.
"""

import atexit
import contextlib
import itertools
import logging
import multiprocessing
import os
import pickle
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from clarion.node.child_process import start_shielded
from clarion.node.errors import ClarionError, ConfigError, StreamError
from clarion.node.events.row import EventRow
from clarion.node.storage.rows import StoredBlock
from clarion.notifiers.child import run_child
from clarion.notifiers.early_pipe import EarlySender
from clarion.notifiers.engine import Descriptions
from clarion.notifiers.runner import EventsSetup

_log = logging.getLogger(__name__)

_START_TIMEOUT_S = 60.0
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_JOIN_STEP_S = 0.1
_STOP_MARGIN_S = 2.0
_ANSWER_TIMEOUT_S = 30.0


class _Child:
    """One life of the events process."""

    def __init__(self, setup: EventsSetup, start_at: int, positions: dict[str, int], held: dict[str, str]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection: Connection[Any, Any]
        self.connection, far_connection = context.Pipe()
        far_wake, self._wake = context.Pipe(duplex=False)
        far_early, early = context.Pipe(duplex=False)
        self.early = EarlySender(early)
        self._wake_lock = threading.Lock()
        os.set_blocking(self._wake.fileno(), False)
        level = logging.getLogger("clarion").getEffectiveLevel()
        self.process: SpawnProcess = context.Process(
            target=run_child,
            args=(setup, start_at, positions, level, far_connection, far_wake, far_early, held),
            name="clarion-events",
            daemon=True,
        )
        start_shielded(self.process)
        # Only the child may hold its ends, else neither side would notice that the other is gone.
        for end in (far_connection, far_wake, far_early):
            end.close()

    def wake(self) -> None:
        # A full pipe means that a wake is waiting already; a broken one is noticed by the reader.
        # The lock keeps the byte out of another file that could get the pipe's number after `close`.
        with self._wake_lock, contextlib.suppress(OSError):
            os.write(self._wake.fileno(), b"\0")

    def close(self, timeout_s: float = 1.0) -> None:
        """See the process off: its pipes close, and it is killed if that does not end it."""
        self.process.join(timeout_s)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.connection.close()
        self.early.close()
        with self._wake_lock:
            self._wake.close()


class EventsProcess:
    """Delivery in a child process, restarted where it left off when it dies (an `EventsRunner`).

    After a crash rows may be told again, never left out; the counters of Core's topics start at 0 again.
    """

    def __init__(self, setup: EventsSetup) -> None:
        self._setup = setup
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._start_at = 0
        self._positions: dict[str, int] = {}
        self._descriptions: Descriptions = {}
        self._held: dict[str, str] = {}
        # Until the child says more, its lanes may need everything.
        self._heights: dict[str, int] = {"delivery": -1}
        self._syncs: dict[int, tuple[int, threading.Event]] = {}
        self._sync_ids = itertools.count(1)
        self._questions: dict[int, Future[Any]] = {}
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._failure: Exception | None = None
        self._reader = threading.Thread(target=self._supervise, name="events-process", daemon=True)

    @property
    def pid(self) -> int | None:
        """The child's process id, None while there is none."""
        child = self._child
        return child.process.pid if child is not None else None

    def start(self, from_seq: int) -> None:
        """Begin to start the child, which takes a while, and return at once."""
        self._start_at = from_seq
        self._reader.start()
        # multiprocessing's own exit handler waits for a child that ignores SIGTERM; this one runs before it.
        atexit.register(self._kill)

    def wait_ready(self) -> None:
        """Wait until the child's notifiers are open. Raises ConfigError or PluginError if that failed."""
        self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def wake(self, seq: int) -> None:
        """Put one byte into the wake pipe."""
        child = self._child
        if child is not None:
            child.wake()

    def offer(self, rows: Sequence[EventRow]) -> None:
        """Send the rows ahead of their commit, as far as there is a child and room in its pipe."""
        child = self._child
        if child is not None:
            child.early.send(rows)

    def expect(self, block: StoredBlock) -> None:
        """Send word of the block, if there is a child and room in its pipe."""
        child = self._child
        if child is not None:
            child.early.send_block(block)

    def sync(self, seq: int, timeout_s: float | None = None) -> bool:
        """Wait for row `seq`, also across a restart of the child."""
        told = threading.Event()
        with self._lock:
            request = next(self._sync_ids)
            self._syncs[request] = (seq, told)
            self._send("sync", request, seq)
        try:
            return told.wait(timeout_s)
        finally:
            with self._lock:
                self._syncs.pop(request, None)

    def stop(self, timeout_s: float = 10.0) -> None:
        """Let the child tell what is durable, then see it off; kill it if it stands still for too long."""
        self._stopping.set()
        atexit.unregister(self._kill)
        with self._lock:
            self._send("stop", timeout_s)
        before, deadline = self._positions, time.monotonic() + timeout_s + _STOP_MARGIN_S
        while self._reader.is_alive() and time.monotonic() < deadline:
            self._reader.join(_JOIN_STEP_S)
            if self._positions != before:
                before, deadline = self._positions, time.monotonic() + timeout_s + _STOP_MARGIN_S
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.close()

    def descriptions(self) -> Descriptions:
        """Return what each notifier publishes where."""
        return self._descriptions

    def lane_heights(self) -> dict[str, int]:
        """Return how far lanes had come when the child reported last."""
        return self._heights

    def ask_lanes(self, action: str, name: str = "", argument: str = "") -> Any:
        """Ask the child's desk. Raises StreamError, `unavailable` while there is no child or it does not answer."""
        answer: Future[Any] = Future()
        if action == "resume":
            self._held.pop(name, None)
        with self._lock:
            if self._child is None:
                raise StreamError("unavailable", "the events process is starting")
            request = next(self._sync_ids)
            self._questions[request] = answer
            self._send("ask", request, action, name, argument)
        try:
            value = answer.result(_ANSWER_TIMEOUT_S)
        except TimeoutError:
            raise StreamError("unavailable", "the events process does not answer") from None
        finally:
            with self._lock:
                self._questions.pop(request, None)
        if isinstance(value, ClarionError):
            raise value
        return value

    def _kill(self) -> None:
        self._stopping.set()
        child = self._child
        if child is not None:
            child.process.kill()

    def _send(self, *message: object) -> None:
        """Send under the lock. A dead child gets its open requests again when it is back."""
        if self._child is not None:
            with contextlib.suppress(OSError):
                self._child.connection.send(message)

    def _launch(self) -> None:
        """Start a child and hear its first word. Raises ConfigError or PluginError."""
        child = _Child(self._setup, self._start_at, self._positions, dict(self._held))
        try:
            answer = self._first_answer(child)
        except (EOFError, OSError, pickle.UnpicklingError):
            answer = ("failed", ConfigError("the events process died while it started"))
        if answer[0] == "failed":
            child.close()
            raise answer[1]
        self._descriptions = answer[1]
        with self._lock:
            self._child = child
            for request, (seq, _) in self._syncs.items():
                self._send("sync", request, seq)
            if self._stopping.is_set():
                self._send("stop", 0.0)
        child.wake()

    def _first_answer(self, child: _Child) -> tuple[Any, ...]:
        while child.connection.poll(_START_TIMEOUT_S):
            message: tuple[Any, ...] = child.connection.recv()
            if message[0] in ("ready", "failed"):
                return message
            self._handle(message)
        return ("failed", ConfigError(f"the events process did not start within {_START_TIMEOUT_S:.0f} s"))

    def _supervise(self) -> None:
        """Start the child, hear it, and start a new one when it dies."""
        try:
            self._launch()
        except Exception as error:
            self._failure = error
            return
        finally:
            self._ready.set()
        pause_s = _FIRST_PAUSE_S
        while True:
            if self._child is not None:
                if self._hear(self._child):
                    pause_s = _FIRST_PAUSE_S
                self._bury()
            if self._stopping.wait(pause_s):
                return
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
            try:
                self._launch()
            except Exception as error:
                _log.error("events process: can't restart: %s", error)

    def _hear(self, child: _Child) -> bool:
        """Handle the child's messages until its pipe closes; whether it told anything."""
        before = dict(self._positions)
        with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                self._handle(child.connection.recv())
        return self._positions != before

    def _bury(self) -> None:
        with self._lock:
            child, self._child = self._child, None
            for question in self._questions.values():
                question.set_result(StreamError("unavailable", "the events process has died"))
            self._questions.clear()
        if child is None:
            return
        child.close()
        if not self._stopping.is_set():
            _log.error("events process: ended with status %s, starting it again", child.process.exitcode)

    def _leaking(self, names: Sequence[str], reason: str) -> None:
        for name in names:
            self._held[name] = reason
            _log.error("%s: paused: %s; resumelane makes it go on", name, reason)
        if not names:
            _log.error("events process: %s; it is started again, which gives the memory back", reason)

    def _handle(self, message: tuple[Any, ...]) -> None:
        if message[0] == "told":
            self._positions, self._heights = message[1], message[2]
        elif message[0] == "synced":
            with self._lock:
                entry = self._syncs.get(message[1])
            if entry is not None:
                entry[1].set()
        elif message[0] == "answer":
            with self._lock:
                question = self._questions.pop(message[1], None)
            if question is not None:
                question.set_result(message[2])
        elif message[0] == "leaking":
            self._leaking(message[1], message[2])
        elif message[0] == "log":
            logging.getLogger(message[1]).log(message[2], "%s", message[3])
