"""An API worker process.

Owns: its entry point, and its end: when told, and when the pipe to its parent closes. Never: starting it.
"""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from clarion.api.settings import ApiSettings


def run(settings: ApiSettings, sockets: Sequence[socket.socket], control_path: Path, pipe: Connection) -> None:
    """Serve the API on `sockets`, asking the node at `control_path`, until `pipe` closes or says anything."""
    # Ctrl-C reaches the whole process group; the parent alone decides when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    from clarion.api.node_link import ControlLink
    from clarion.api.server import ApiServer

    server = ApiServer(settings, sockets, ControlLink(control_path))
    threading.Thread(target=_wait_for_end, args=(pipe, server.stop), name="parent", daemon=True).start()
    server.run()


def _wait_for_end(pipe: Connection, stop: Callable[[], None]) -> None:
    with contextlib.suppress(EOFError, OSError):
        pipe.recv_bytes()
    stop()
