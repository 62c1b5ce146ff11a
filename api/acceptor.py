"""Takes clients' connections from the listening sockets that all API workers share, so that each gets its part.

Owns: which worker takes a connection. Never: what is said on it. The system gives a connection to the worker that asks
first: of sixteen clients that keep theirs, one worker of two had thirteen or all, and the other's core was idle.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from clarion.api.connection_counts import CountedSet

_log = logging.getLogger("clarion.http")

PATIENCE_S = 0.02
"""So long a connection is left to a worker that has fewer; one that does not take it by then is too busy."""

POLL_S = 0.002
"""So often it looks meanwhile whether they have caught up."""

SLACK = 8
"""Of so many connections one more than the others have does no harm: a storm of them isn't shared out one by one."""

RETRY_S = 1.0
"""After the system could open no more descriptors."""

Factory = Callable[[], asyncio.Protocol]


class Acceptor:
    """Belongs to one event loop. `held` are the connections of this worker; what `factory` makes adds itself there."""

    def __init__(self, listeners: Sequence[socket.socket], factory: Factory, held: CountedSet[Any]) -> None:
        self._listeners = list(listeners)
        self._factory = factory
        self._held = held
        self._loop = asyncio.get_running_loop()
        self._delays: set[asyncio.TimerHandle] = set()
        self._opening: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin to take connections."""
        for listener in self._listeners:
            listener.setblocking(False)
            self._watch(listener)

    def close(self) -> None:
        """Take no more."""
        self._held.close()
        for listener in self._listeners:
            self._loop.remove_reader(listener)
        for delay in self._delays:
            delay.cancel()

    def _watch(self, listener: socket.socket) -> None:
        self._loop.add_reader(listener, partial(self._ready, listener))

    def _ready(self, listener: socket.socket) -> None:
        if self._may_take():
            self._take(listener)
        else:
            self._loop.remove_reader(listener)
            self._leave(listener, self._loop.time() + PATIENCE_S)

    def _may_take(self) -> bool:
        own = len(self._held) + len(self._opening)
        least = self._held.least_elsewhere()
        return least is None or own <= least + own // SLACK

    def _leave(self, listener: socket.socket, deadline: float) -> None:
        """Look away until the others have as many, or until the deadline."""

        def look_again() -> None:
            if self._may_take() or self._loop.time() >= deadline:
                self._watch(listener)
                self._take(listener)
            else:
                self._leave(listener, deadline)

        self._later(POLL_S, look_again)

    def _later(self, seconds: float, do: Callable[[], None]) -> None:
        def run() -> None:
            self._delays.discard(delay)
            do()

        delay = self._loop.call_later(seconds, run)
        self._delays.add(delay)

    def _take(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another worker was faster, or the client has left
        except OSError as error:
            _log.error("No connection could be taken: %s", error.strerror)
            self._loop.remove_reader(listener)
            self._later(RETRY_S, partial(self._watch, listener))
            return
        task = self._loop.create_task(self._open(connection))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await self._loop.connect_accepted_socket(self._factory, connection)
