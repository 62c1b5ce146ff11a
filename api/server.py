"""uvicorn on sockets that are bound already, with the application of one process.

Owns: uvicorn's settings and its life in an event loop. Never: processes, the application's contents.
"""

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import uvicorn

from clarion.api.acceptor import Acceptor
from clarion.api.application import create_app
from clarion.api.connection_counts import ConnectionCounts, CountedSet
from clarion.api.http_protocol import HttpProtocol
from clarion.api.rpc.context import NodeLink, ReaderContext
from clarion.api.settings import ApiSettings
from clarion.api.streams.endpoint import MAX_REQUEST_BYTES
from clarion.node.storage.chain_reader import ChainReader

GRACE_S = 30
"""A stop waits this long for open requests."""


class _ToClarion(logging.Handler):
    """Hands uvicorn's lines to our log. What it warns of are clients that speak no HTTP: that is for debugging."""

    def emit(self, record: logging.LogRecord) -> None:
        level = logging.DEBUG if record.levelno <= logging.WARNING else record.levelno
        logging.getLogger("clarion.http").log(level, "%s", self.format(record))


class _Server(uvicorn.Server):
    """uvicorn without signal handlers: the node's main thread, or the worker's pipe, says when to stop.

    Connections are taken by our acceptor, which leaves some to the other workers.
    """

    def __init__(self, config: uvicorn.Config, counts: ConnectionCounts, worker: int) -> None:
        super().__init__(config)
        self._counts = counts
        self._worker = worker
        self._acceptor: Acceptor | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then begin to take connections from `sockets`."""
        await super().startup(sockets=[])
        held: CountedSet[Any] = CountedSet(self._counts, self._worker)
        self.server_state.connections = held
        factory = partial(
            HttpProtocol, config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        self._acceptor = Acceptor(sockets or [], factory, held)
        self._acceptor.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, then let uvicorn end those that there are."""
        if self._acceptor is not None:
            self._acceptor.close()
        await super().shutdown(sockets=sockets)

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()


class ApiServer:
    """Serves the API in the calling thread. `stop` may be called from any thread."""

    def __init__(
        self,
        settings: ApiSettings,
        sockets: Sequence[socket.socket],
        link: NodeLink,
        counts: ConnectionCounts,
        worker: int = 0,
    ) -> None:
        """`counts` is shared with the other workers, of which this is number `worker`."""
        self._sockets = list(sockets)
        self._link = link

        def open_reader() -> ChainReader:
            return ChainReader(
                settings.database_url, settings.chain_dir, settings.params, blocks_dir=settings.blocks_dir
            )

        config = uvicorn.Config(
            create_app(ReaderContext(settings, link, open_reader)),
            http=HttpProtocol,
            loop="uvloop",
            lifespan="on",
            ws="websockets-sansio",
            ws_max_size=MAX_REQUEST_BYTES,
            interface="asgi3",
            access_log=False,
            log_config=None,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=settings.rpc_server_timeout_s,
            timeout_graceful_shutdown=GRACE_S,
        )
        uvicorn_log = logging.getLogger("uvicorn")
        uvicorn_log.handlers = [_ToClarion()]
        uvicorn_log.propagate = False
        self._server = _Server(config, counts, worker)
        self._stop_asked = threading.Event()

    def run(self) -> None:
        """Serve until `stop`."""
        with asyncio.Runner(loop_factory=_event_loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._link.connect()
        if self._stop_asked.is_set():
            self._server.should_exit = True
        await self._server.serve(sockets=self._sockets)

    def stop(self) -> None:
        """Accept nothing more, finish open requests, and have `run` return."""
        self._stop_asked.set()
        self._server.should_exit = True


def _event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class InProcessServer:
    """The API in a thread of the node's process (`-apiworkers=0`)."""

    def __init__(self, settings: ApiSettings, sockets: Sequence[socket.socket], link: NodeLink) -> None:
        self._counts = ConnectionCounts(1)
        self._server = ApiServer(settings, sockets, link, self._counts)
        self._sockets = list(sockets)
        self._thread = threading.Thread(target=self._server.run, name="api", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Finish open requests and end the thread."""
        self._server.stop()
        if self._thread.is_alive():
            self._thread.join()
        for listener in self._sockets:
            listener.close()
        self._counts.close()
