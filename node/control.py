"""The control channel, node's side: API workers ask, the node answers.

Owns: the ROUTER socket, its path, the threads that run the calls, and the calls that wait without one. Never: what the
methods do.

One message is [caller, 8 bytes of call id, msgpack]; a call is `[method, params]`, an answer `[result, code, message]`
where `result` is JSON text and None in an error. A call id alone takes a call back: nobody wants its answer any more.
"""

import contextlib
import logging
import os
import queue
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import zmq

from clarion.api.node_link import Answer, Call
from clarion.api.rpc.node_methods import CallRunner, as_rpc_error
from clarion.api.rpc.waiting import Waiting

_log = logging.getLogger("clarion.control")

MAX_SOCKET_PATH_BYTES = 107
"""Longest path of a unix socket (sun_path holds 108 bytes with its terminator)."""


def control_path(chain_dir: Path) -> Path:
    """Return where the control socket lives: in the chain's data directory, else in a new private folder.

    The folder is used when the path would be too long for a unix socket.
    """
    path = chain_dir / "control.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return path
    return Path(tempfile.mkdtemp(prefix="clarion-")) / "control.sock"


@dataclass(slots=True, eq=False)
class _OpenCall:
    """A call that has no answer yet."""

    caller: bytes
    call_id: bytes
    method: str = "?"
    ready: "Future[Any] | None" = None
    """What it waits for, without a thread."""
    taken_back: bool = False


class ControlServer:
    """Serves NODE methods on a unix socket. `start` and `stop` are called once each, by the same thread."""

    def __init__(self, path: Path, methods: CallRunner, *, threads: int = 16) -> None:
        self._path = path
        self._methods = methods
        self._threads = threads
        self._answers: queue.SimpleQueue[list[bytes] | None] = queue.SimpleQueue()
        self._open: dict[tuple[bytes, bytes], _OpenCall] = {}
        self._decoder = msgspec.msgpack.Decoder(Call)
        self._encoder = msgspec.msgpack.Encoder()
        self._thread: threading.Thread | None = None
        self._wake_read = self._wake_write = -1

    def start(self) -> None:
        """Bind the socket and answer from now on. Raises zmq.ZMQError if the path can't be bound."""
        self._path.unlink(missing_ok=True)
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 1000)
        # A worker that vanished must not block answers to the others; ROUTER drops what it can't route.
        self._socket.setsockopt(zmq.SNDHWM, 0)
        self._socket.setsockopt(zmq.RCVHWM, 0)
        old_mask = os.umask(0o077)
        try:
            self._socket.bind(f"ipc://{self._path}")
        finally:
            os.umask(old_mask)
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="rpc")
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let running calls finish, send their answers, close the socket and remove it."""
        if self._thread is None:
            return
        self._pool.shutdown(wait=True)
        self._send_later(None)
        self._thread.join()
        self._thread = None
        self._socket.close()
        self._context.term()
        os.close(self._wake_read)
        os.close(self._wake_write)
        self._path.unlink(missing_ok=True)
        if self._path.parent.name.startswith("clarion-"):
            self._path.parent.rmdir()

    def _send_later(self, frames: list[bytes] | None) -> None:
        self._answers.put(frames)
        os.write(self._wake_write, b"\0")

    def _serve(self) -> None:
        """Move messages between the socket and the pool; a ZMQ socket belongs to one thread."""
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._wake_read, zmq.POLLIN)
        while True:
            ready = dict(poller.poll())
            if self._wake_read in ready:
                os.read(self._wake_read, 4096)
                if not self._flush_answers():
                    return
            if self._socket in ready:
                self._receive()

    def _flush_answers(self) -> bool:
        while not self._answers.empty():
            frames = self._answers.get()
            if frames is None:
                return False
            self._socket.send_multipart(frames)
        return True

    def _receive(self) -> None:
        while True:
            try:
                frames = self._socket.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                return
            if len(frames) == 2:
                self._take_back(frames[0], frames[1])
            elif len(frames) == 3:
                caller, call_id, payload = frames
                call = self._open[caller, call_id] = _OpenCall(caller, call_id)
                self._in_pool(call, partial(self._begin, call, payload))
            else:
                _log.warning("control channel: a message of %d parts is ignored", len(frames))

    def _take_back(self, caller: bytes, call_id: bytes) -> None:
        call = self._open.get((caller, call_id))
        if call is not None:
            call.taken_back = True
            if call.ready is not None:
                call.ready.cancel()

    def _in_pool(self, call: _OpenCall, step: Callable[[], bytes | Waiting]) -> None:
        # A pool that is shut down takes nothing: the node stops, and the workers with it.
        with contextlib.suppress(RuntimeError):
            self._pool.submit(self._run, call, step)

    def _begin(self, call: _OpenCall, payload: bytes) -> bytes | Waiting:
        asked = self._decoder.decode(payload)
        call.method = asked.method
        return self._methods.start(asked.method, asked.params)

    def _run(self, call: _OpenCall, step: Callable[[], bytes | Waiting]) -> None:
        try:
            result = step()
        except Exception as error:
            told = as_rpc_error(error, call.method)
            self._answer(call, Answer(None, told.code, told.message))
        else:
            if isinstance(result, Waiting):
                self._wait(call, result)
            else:
                self._answer(call, Answer(result))

    def _wait(self, call: _OpenCall, waiting: Waiting) -> None:
        call.ready = waiting.ready
        if call.taken_back:
            waiting.ready.cancel()
        waiting.ready.add_done_callback(lambda _: self._go_on(call, waiting))

    def _go_on(self, call: _OpenCall, waiting: Waiting) -> None:
        if waiting.ready.cancelled():
            self._open.pop((call.caller, call.call_id), None)
        else:
            self._in_pool(call, partial(self._methods.resume, waiting))

    def _answer(self, call: _OpenCall, answer: Answer) -> None:
        self._open.pop((call.caller, call.call_id), None)
        self._send_later([call.caller, call.call_id, self._encoder.encode(answer)])
