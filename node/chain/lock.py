"""The chain lock: one reentrant lock that knows who holds it.

Owns: mutual exclusion of in-memory chain state and of the tip commit. Never held while reading or writing block and
undo files, encoding or decoding for a client, running script checks, sending on a socket or calling a plugin.
"""

import threading
from types import TracebackType


class ChainLock:
    """A reentrant lock with a question that tests ask: is it held by the calling thread?"""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner: int | None = None
        self._depth = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._owner = threading.get_ident()
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
        self._lock.release()

    @property
    def held(self) -> bool:
        """Whether the calling thread holds the lock."""
        return self._owner == threading.get_ident()
