"""How many connections each API worker holds, where all of them see it.

Owns: a shared page with one number for each worker. Never: connections. Numbers are a little late, never torn: a worker
writes its own alone, and the node that of one that has died.
"""

import mmap
import os
import tempfile
from typing import TypeVar

_SLOT_BYTES = 4
_CLOSED = 0xFFFFFFFF
"""What a worker shows that takes none: nobody leaves a connection to it."""

_Item = TypeVar("_Item")


class ConnectionCounts:
    """A number for each of `workers`. Made by the node; workers open it by its descriptor."""

    def __init__(self, workers: int, descriptor: int | None = None) -> None:
        """`descriptor` is another process's, handed over; without it a new page is made, all workers closed."""
        self.workers = workers
        size = max(1, workers) * _SLOT_BYTES
        if descriptor is None:
            with tempfile.TemporaryFile() as file:
                file.truncate(size)
                self.descriptor = os.dup(file.fileno())
        else:
            self.descriptor = descriptor
        self._slots = memoryview(mmap.mmap(self.descriptor, size)).cast("I")
        if descriptor is None:
            for worker in range(workers):
                self.close_worker(worker)

    def set(self, worker: int, count: int) -> None:
        """Say how many connections `worker` holds."""
        self._slots[worker] = count

    def close_worker(self, worker: int) -> None:
        """Say that `worker` takes no connections."""
        self._slots[worker] = _CLOSED

    def least_of_others(self, worker: int) -> int | None:
        """Return the fewest connections that another worker holds, None where no other takes any."""
        others = [self._slots[other] for other in range(self.workers) if other != worker]
        least = min(others, default=_CLOSED)
        return None if least == _CLOSED else least

    def close(self) -> None:
        """Let go of the descriptor; other processes keep theirs."""
        os.close(self.descriptor)


class CountedSet(set[_Item]):
    """The connections that a worker holds; whenever one comes or goes by `add` and `discard`, all see how many."""

    def __init__(self, counts: ConnectionCounts, worker: int) -> None:
        super().__init__()
        self._counts = counts
        self._worker = worker
        self._is_open = True
        self._tell()

    def add(self, item: _Item, /) -> None:
        """Add one."""
        super().add(item)
        self._tell()

    def discard(self, item: object, /) -> None:
        """Take one out if it is there."""
        super().discard(item)
        self._tell()

    def least_elsewhere(self) -> int | None:
        """Return the fewest connections that another worker holds, None where no other takes any."""
        return self._counts.least_of_others(self._worker)

    def close(self) -> None:
        """Say that this worker takes no more; those that it holds end one by one."""
        self._is_open = False
        self._counts.close_worker(self._worker)

    def _tell(self) -> None:
        if self._is_open:
            self._counts.set(self._worker, len(self))
