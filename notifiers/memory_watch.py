"""A limit for the memory of the events process, and which plugin's lane takes it.

Owns: measuring, and whom to blame. Never: deciding what becomes of the lane: the node starts the process again without it.
A process has one memory for all its lanes. Above the limit it is looked for a while whose code asks for more, on
whichever thread (`memory_trace`). Who took it before is told by what the process grew by while a plugin was being told
something: the others' share is noise, as it comes and goes, where a leak only grows. Where it grows on and nobody can
be named, as a library in C takes memory on a thread of its own, everybody is started again. Linux alone tells a
process how much it holds; elsewhere there is no limit.
"""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from clarion.notifiers.lanes.lane_state import LaneState
from clarion.notifiers.memory_trace import WINDOW_BYTES, MemoryTrace

_log = logging.getLogger(__name__)

CHECK_EVERY_S = 1.0
PATIENCE = 3
"""Checks above the limit during which code that asks for more is looked for, before what was taken earlier counts."""

_LONGEST_TRACE = 60
"""Checks after which tracing ends where little is taken; it begins again when the process has grown."""

_GROWTH = 4
"""The process ends when it has grown by a quarter of the limit above it, whether somebody is to blame or not."""

_LEAST_SHARE = 0.5
"""A lane is to blame if it took at least this share of what the process has grown by."""

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_statm: dict[int, int] = {}


class NamedLane(Protocol):
    """What the watch needs to know of a lane."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def is_weighed(self) -> bool:
        """Whether a plugin is told there."""

    @property
    def state(self) -> LaneState:
        """Its counters."""

    @property
    def code(self) -> str:
        """Where the plugin's code lies (`memory_trace.code_of`)."""


def resident_bytes() -> int:
    """Return what this process holds in memory; 0 where the system does not say. Takes a few microseconds."""
    pid = os.getpid()
    with suppress(OSError):
        if pid not in _statm:
            _statm[pid] = os.open("/proc/self/statm", os.O_RDONLY)
        return int(os.pread(_statm[pid], 100, 0).split()[1]) * _PAGE_BYTES
    return 0


def is_foreign(thing: object) -> bool:
    """Whether a plugin brought this notifier or transport, or is told by it: then its memory is watched."""
    return bool(getattr(thing, "is_weighed", not type(thing).__module__.startswith("clarion.")))


class MemoryWatch:
    """Looks once a second, on a thread of its own, from `start` on."""

    def __init__(
        self, lanes: Sequence[NamedLane], limit_bytes: int, on_leak: Callable[[Sequence[str], str], None]
    ) -> None:
        """`on_leak` is given the names of lanes, none where nobody can be named, and what to tell; the process should end then."""
        self._lanes = lanes
        self._limit = self._next_warning = limit_bytes
        self._on_leak = on_leak
        self._at_start = resident_bytes()
        self._trace = MemoryTrace()
        self._trace_above = limit_bytes
        self._first_above: int | None = None
        self._checks = self._trace_until = 0

    def start(self) -> None:
        """Begin to watch."""
        if self._limit and self._at_start:
            threading.Thread(target=self._run, name="memory-watch", daemon=True).start()

    def check(self, held: int) -> bool:
        """Whether all may go on with so many bytes held; tells who took them if not."""
        foreign = [lane for lane in self._lanes if lane.is_weighed]
        if held <= self._limit or not foreign:
            self._trace.stop()
            self._first_above, self._trace_above = None, self._limit
            if held > self._limit:
                self._warn(held)
            return True
        if self._first_above is None:
            self._first_above, self._checks = held, 0
        self._checks += 1
        has_grown = held > self._first_above + self._limit // _GROWTH
        blamed = self._by_code(foreign, held)
        if blamed is None and (has_grown or self._checks >= PATIENCE):
            blamed = self._by_calls(foreign, held)
        if blamed is None and has_grown:
            blamed = (), f"it grows on above {self._limit >> 20} MiB (-eventsmemory), and no plugin's code can be named"
        if blamed is None:
            self._warn(held)
            return True
        self._trace.stop()
        self._on_leak(*blamed)
        return False

    def _by_code(self, foreign: Sequence[NamedLane], held: int) -> tuple[Sequence[str], str] | None:
        """Return whose code asks for more and what to tell, None while that can't be said."""
        if not self._trace.is_running:
            if held >= self._trace_above:
                self._trace.start()
                self._trace_until = self._checks + _LONGEST_TRACE
            return None
        if self._trace.is_full:
            names, taken, total = self._trace.to_blame({lane.name: lane.code for lane in foreign})
            # Those who share a file are told apart by their calls, if these took it.
            found = self._by_calls([lane for lane in foreign if lane.name in names], held) if len(names) > 1 else None
            if names:
                return found or (names, f"its code took {taken >> 20} of the last {total >> 20} MiB {self._process}")
            self._trace.start()
        if self._checks >= self._trace_until:
            self._trace.stop()
            self._trace_above = held + WINDOW_BYTES
        return None

    def _by_calls(self, foreign: Sequence[NamedLane], held: int) -> tuple[Sequence[str], str] | None:
        """Return in whose calls most was taken and what to tell, None if in nobody's."""
        called = [lane for lane in foreign if not lane.state.paused]
        taken, name = max(((lane.state.taken_bytes(held), lane.name) for lane in called), default=(0, ""))
        if not name or taken < _LEAST_SHARE * (held - self._at_start):
            return None
        return (name,), f"it took {taken >> 20} of the {held >> 20} MiB {self._process}"

    @property
    def _process(self) -> str:
        return f"of the events process (-eventsmemory={self._limit >> 20})"

    def _warn(self, held: int) -> None:
        if held > self._next_warning:
            self._next_warning = 2 * held
            _log.error("events process: %d MiB are above -eventsmemory, and no plugin took most of them", held >> 20)

    def _run(self) -> None:
        pause = threading.Event()
        while self.check(resident_bytes()):
            pause.wait(CHECK_EVERY_S)
