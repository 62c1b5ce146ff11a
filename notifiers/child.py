"""The events process, seen from inside.

Owns: the child's main loop, its ends of the pipes, and sending its log lines to the node. Never: outliving the node:
it exits when its pipe closes.

Messages, node to child: ("sync", id, seq), ("ask", id, action, name, argument), ("stop", timeout_s). Child to node:
("ready", descriptions), ("failed", error), ("synced", id), ("answer", id, value or error), ("told", positions,
heights), ("leaking", lanes, reason), ("log", name, level, text), ("stopped",).
"""

import logging
import multiprocessing.connection
import os
import pickle
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from clarion.node.child_process import ignore_stop_signals
from clarion.node.collector import tune_collector
from clarion.node.errors import ClarionError, ConfigError, StreamError
from clarion.node.events.row import EventRow
from clarion.node.storage.rows import StoredBlock
from clarion.notifiers.early_pipe import EarlyReceiver
from clarion.notifiers.engine import EventsEngine
from clarion.notifiers.memory_watch import MemoryWatch
from clarion.notifiers.runner import EventsSetup

_WAKE_READ_BYTES = 4096
_REPORT_EVERY_S = 0.25
_SWITCH_INTERVAL_S = 0.0005
LEAK_STATUS = 77
"""How the process ends where a plugin took too much memory."""


class Uplink:
    """The child's way to speak to the node, from any thread. Silent once the node is gone."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, *message: object) -> None:
        """Send one message."""
        try:
            with self._lock:
                self._connection.send(message)
        except OSError:
            pass  # the main loop sees the closed pipe and ends the process


class UplinkLogHandler(logging.Handler):
    """Hands log lines to the node, which alone writes debug.log."""

    def __init__(self, uplink: Uplink) -> None:
        super().__init__()
        self._uplink = uplink

    def emit(self, record: logging.LogRecord) -> None:
        """Send the line, with its traceback where it has one."""
        self._uplink.send("log", record.name, record.levelno, self.format(record))


class ProgressReport:
    """Tells the node where the lanes are, at most a few times a second: there a new child starts after a crash."""

    def __init__(self, uplink: Uplink) -> None:
        self.engine: EventsEngine | None = None
        self._uplink = uplink
        self._next = 0.0

    def __call__(self) -> None:
        """Report, unless the last report is fresh."""
        now = time.monotonic()
        if now >= self._next and self.engine is not None:
            self._next = now + _REPORT_EVERY_S
            self._uplink.send("told", self.engine.positions(), self.engine.heights())


def run_child(
    setup: EventsSetup,
    start_at: int,
    positions: Mapping[str, int],
    log_level: int,
    connection: "Connection[Any, Any]",
    wake: "Connection[Any, Any]",
    early: "Connection[Any, Any]",
    held: Mapping[str, str],
) -> None:
    """Be the events process until the node says stop or goes away. `held` are lanes that begin paused, and why."""
    # The node stops its children itself; a Ctrl-C in the terminal reaches the whole process group.
    ignore_stop_signals()
    # libzmq's calls let go of the interpreter lock; a plugin that computes would hold it for 5 ms each time:
    # 4,000 sends a second, and 200,000 with this interval.
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    tune_collector()
    uplink = Uplink(connection)
    logging.basicConfig(handlers=[UplinkLogHandler(uplink)], level=log_level, format="%(message)s", force=True)
    try:
        engine = _start_engine(setup, start_at, positions, uplink, held)
    except Exception as error:
        uplink.send("failed", _as_sent(error))
        return
    uplink.send("ready", engine.descriptions())
    uplink.send("told", engine.positions(), engine.heights())
    _watch_memory(setup, engine, uplink)
    stop_timeout_s = _serve(engine, uplink, connection, wake, early)
    if stop_timeout_s is not None:
        engine.stop(stop_timeout_s)
        uplink.send("told", engine.positions(), engine.heights())
        uplink.send("stopped")
    # Lanes that hang, or a plugin's own threads, must not keep the process alive.
    os._exit(0)


def _start_engine(
    setup: EventsSetup, start_at: int, positions: Mapping[str, int], uplink: Uplink, held: Mapping[str, str]
) -> EventsEngine:
    report = ProgressReport(uplink)
    engine = setup.engine(start_at, positions, report, held)
    report.engine = engine
    engine.start()
    return engine


def _watch_memory(setup: EventsSetup, engine: EventsEngine, uplink: Uplink) -> None:
    def leave(names: Sequence[str], reason: str) -> None:
        uplink.send("told", engine.positions(), engine.heights())
        uplink.send("leaking", list(names), reason)
        # Only the end of the process gives the memory back.
        os._exit(LEAK_STATUS)

    MemoryWatch(engine.lanes, setup.memory_limit_bytes, leave).start()


def _as_sent(error: Exception) -> Exception:
    if isinstance(error, ClarionError):
        return error
    logging.getLogger(__name__).error("the events process can't start", exc_info=error)
    return ConfigError(f"the events process can't start: {type(error).__name__}: {error}")


def _take_early(engine: EventsEngine, receiver: EarlyReceiver) -> None:
    messages = receiver.receive()
    engine.offer([message for message in messages if isinstance(message, EventRow)])
    for message in messages:
        if isinstance(message, StoredBlock):
            engine.expect(message)


def _serve(
    engine: EventsEngine,
    uplink: Uplink,
    connection: "Connection[Any, Any]",
    wake: "Connection[Any, Any]",
    early: "Connection[Any, Any]",
) -> float | None:
    """Serve the node; return how long a stop may take, or None when the node is gone."""
    receiver = EarlyReceiver(early)
    # Counting what is behind a lane may take a second; rows must not wait for that.
    answers = ThreadPoolExecutor(1, thread_name_prefix="lane-desk")
    while True:
        ready = multiprocessing.connection.wait([connection, wake, early])
        try:
            if early in ready:
                _take_early(engine, receiver)
            if wake in ready:
                if not os.read(wake.fileno(), _WAKE_READ_BYTES):
                    return None
                engine.wake()
            if connection not in ready:
                continue
            message = connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        if message[0] == "stop":
            return float(message[1])
        if message[0] == "ask":
            answers.submit(_answer, engine, uplink, *message[1:])
            continue
        _, request, seq = message
        engine.wake()
        engine.call_when_told(seq, lambda request=request: uplink.send("synced", request))  # type: ignore[misc]


def _answer(engine: EventsEngine, uplink: Uplink, request: int, action: str, name: str, argument: str) -> None:
    try:
        value = engine.desk.ask(action, name, argument)
    except ClarionError as error:
        value = error
    except Exception as error:
        logging.getLogger(__name__).exception("lanes: %s failed", action)
        value = StreamError("unavailable", f"{type(error).__name__}: {error}")
    # A lane that was sent back must be known before anything is pruned.
    uplink.send("told", engine.positions(), engine.heights())
    uplink.send("answer", request, value)
