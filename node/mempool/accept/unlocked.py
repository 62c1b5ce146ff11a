"""The opposite of a lock's `with`.

Owns: giving a held lock up for a while. Never: knowing what it guards.
"""

import threading
from types import TracebackType


class Unlocked:
    """Releases a lock that the calling thread holds once, and takes it again at the end."""

    def __init__(self, lock: "threading.RLock") -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.release()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.acquire()
