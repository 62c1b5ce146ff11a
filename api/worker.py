"""An API worker process.

Owns: what it does, its log lines' way to the node, and its end: when told, and when the pipe to its parent closes.
Never: starting it (see `idle_worker`).

Messages, node to worker: ("levels", {logger: level}), ("stop",). Worker to node: ("log", name, level, text).
"""

import gc
import logging
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from clarion.api.connection_counts import ConnectionCounts
from clarion.api.idle_worker import Task
from clarion.api.node_link import ControlLink
from clarion.api.server import ApiServer
from clarion.notifiers.child import Uplink, UplinkLogHandler

GC_THRESHOLD = 200_000
"""Objects that may come before the cyclic collector looks at the young ones."""


def run(task: Task, sockets: Sequence[socket.socket], counts: ConnectionCounts, pipe: "Connection[Any, Any]") -> None:
    """Serve the API on `sockets`, as `task` says, until `pipe` closes or says so; `counts` is shared by all workers."""
    logging.getLogger("clarion").addHandler(UplinkLogHandler(Uplink(pipe)))
    logging.getLogger("clarion").propagate = False
    _set_levels(task.levels)
    # What start-up made stays. A rendered block is tens of thousands of objects without cycles: looking for some among
    # them, again and again, would take as long as making them.
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 50, 50)
    link = ControlLink(task.control_path)
    server = ApiServer(task.settings, sockets, link, counts, task.worker)
    threading.Thread(target=_listen, args=(pipe, server.stop, link.give_up), name="parent", daemon=True).start()
    server.run()


def _listen(pipe: "Connection[Any, Any]", stop: Callable[[], None], give_up: Callable[[], None]) -> None:
    try:
        while True:
            message = pipe.recv()
            if message[0] != "levels":
                break
            _set_levels(message[1])
    except (EOFError, OSError):
        # The node was killed: what it was asked will have no answer, so open requests must not wait for one.
        give_up()
    stop()


def _set_levels(levels: Mapping[str, int]) -> None:
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
