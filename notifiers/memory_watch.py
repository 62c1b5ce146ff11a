"""A limit for the memory of the events process, and which plugin's lane takes it.

Owns: measuring, and whom to blame. Never: deciding what becomes of the lane: the node starts the process again without it.
A process has one memory for all its lanes. What it grows by while a plugin is being told something counts as that
plugin's; the others' share is noise, as it comes and goes, where a leak only grows. Linux alone tells a process how
much it holds; elsewhere there is no limit.
"""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from clarion.notifiers.lanes.lane_state import LaneState

_log = logging.getLogger(__name__)

CHECK_EVERY_S = 1.0
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

    def __init__(self, lanes: Sequence[NamedLane], limit_bytes: int, on_leak: Callable[[str, str], None]) -> None:
        """`on_leak` is given the lane's name and what to tell about it; the process should end then."""
        self._lanes = lanes
        self._limit = self._next_warning = limit_bytes
        self._on_leak = on_leak
        self._at_start = resident_bytes()

    def start(self) -> None:
        """Begin to watch."""
        if self._limit and self._at_start:
            threading.Thread(target=self._run, name="memory-watch", daemon=True).start()

    def check(self, held: int) -> bool:
        """Whether the limit is kept with so many bytes held; tells who took them if it is not."""
        if held <= self._limit:
            return True
        weighed = [lane for lane in self._lanes if lane.is_weighed and not lane.state.paused]
        taken, name = max(((lane.state.taken_bytes(held), lane.name) for lane in weighed), default=(0, ""))
        mib = held >> 20
        if name and taken >= _LEAST_SHARE * (held - self._at_start):
            self._on_leak(
                name,
                f"it took {taken >> 20} of the {mib} MiB of the events process (-eventsmemory={self._limit >> 20})",
            )
            return False
        if held > self._next_warning:
            self._next_warning = 2 * held
            _log.error("events process: %d MiB are above -eventsmemory, and no plugin took most of them", mib)
        return True

    def _run(self) -> None:
        pause = threading.Event()
        while self.check(resident_bytes()):
            pause.wait(CHECK_EVERY_S)
