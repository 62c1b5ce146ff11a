"""What was made of blocks lately, so that the next client gets it at once: a block never changes.

Owns: the values, their size, and that one value is made once at a time. Never: what changes with the chain.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

_Value = TypeVar("_Value")


class BlockCache:
    """The last values up to a number of bytes, the least recently used given up first. Thread-safe."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, _Making[Any]] = {}
        self._lock = threading.Lock()
        # Python runs one thread at a time: two that render only keep each other's memory out of the processor's caches.
        self._turn = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], _Value], size_of: Callable[[_Value], int] = len) -> _Value:  # type: ignore[assignment]
        """Return the value of `key`; where it is not there, `make` makes it, once for all who ask meanwhile.

        `size_of` returns the bytes that a value takes. Raises what `make` raises.
        """
        with self._lock:
            held = self._values.get(key)
            if held is not None:
                self._values.move_to_end(key)
                return held[0]  # type: ignore[no-any-return]
            making = self._making.get(key)
            if making is None:
                mine = self._making[key] = _Making()
        if making is not None:
            return making.wait()  # type: ignore[no-any-return]
        try:
            with self._turn:
                mine.value = value = make()
        except BaseException as error:
            mine.error = error
            raise
        finally:
            with self._lock:
                del self._making[key]
                if mine.error is None:
                    self._keep(key, mine.value, size_of(mine.value))
            mine.done.set()
        return value

    def _keep(self, key: Hashable, value: Any, size: int) -> None:
        if size > self._max_bytes:
            return
        self._values[key] = (value, size)
        self._bytes += size
        while self._bytes > self._max_bytes:
            _, (_, gone) = self._values.popitem(last=False)
            self._bytes -= gone


class _Making(Generic[_Value]):
    """A value that one thread makes and others wait for."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None

    def wait(self) -> _Value:
        self.done.wait()
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[no-any-return]
