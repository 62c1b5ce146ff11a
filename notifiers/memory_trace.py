"""Whose code asks for memory: seen by the files that asked, on whichever thread they did.

Owns: tracing Python's allocations for a while, and each plugin's share of them. Never: deciding what becomes of a plugin.
What a library in C takes by itself is not seen here.
"""

import os
import sys
import tracemalloc
from collections.abc import Mapping, Sequence
from types import ModuleType

WINDOW_BYTES = 16 << 20
"""So much that was asked for, and not given back, is enough to tell who asks."""

_FRAMES = 16
"""Callers that are looked at: a plugin may take its memory deep inside a library."""

_LEAST_SHARE = 0.5


def code_of(thing: object) -> str:
    """Return the file, or the folder with an ending separator, of the code of a plugin or of what it brought; '' if unknown.

    A thing that stands for a plugin says by `weighed_code` for which.
    """
    plugin = getattr(thing, "weighed_code", thing)
    name = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
    top = sys.modules.get(name.partition(".")[0])
    folders = list(getattr(top, "__path__", ()))
    if folders:
        return os.path.join(folders[0], "")
    return getattr(top, "__file__", None) or ""


class MemoryTrace:
    """Traces from `start` to `stop`, for one thread. Allocations take two to four times as long meanwhile."""

    def __init__(self) -> None:
        self.is_running = False

    def start(self) -> None:
        """Begin, or begin anew."""
        self.stop()
        tracemalloc.start(_FRAMES)
        self.is_running = True

    def stop(self) -> None:
        """End it, if it runs."""
        if self.is_running:
            tracemalloc.stop()
            self.is_running = False

    @property
    def is_full(self) -> bool:
        """Whether enough was taken to tell by whom."""
        return self.is_running and tracemalloc.get_traced_memory()[0] >= WINDOW_BYTES

    def to_blame(self, code: Mapping[str, str]) -> tuple[Sequence[str], int, int]:
        """Return (whose code took most, bytes that it took, bytes that were taken); nobody where it was no one's.

        `code`: by name what `code_of` said. Several names where they share it.
        """
        taken: dict[str, int] = {}
        total = 0
        for trace in tracemalloc.take_snapshot().traces:
            total += trace.size
            files = [frame.filename for frame in trace.traceback]
            for place in set(code.values()) - {""}:
                if any(file.startswith(place) for file in files):
                    taken[place] = taken.get(place, 0) + trace.size
        most, place = max(((size, place) for place, size in taken.items()), default=(0, ""))
        if not most or most < _LEAST_SHARE * total:
            return (), most, total
        return [name for name, own in code.items() if own == place], most, total
