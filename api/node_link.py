"""The control channel, API's side, and the direct link that replaces it within one process.

Owns: the wire messages and the matching of answers to calls. Never: which method runs where.
"""

import asyncio
import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import orjson
import zmq
import zmq.asyncio

from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.node_methods import CallRunner, as_rpc_error
from clarion.api.rpc.waiting import Waiting
from clarion.node.errors import RpcError


class Call(msgspec.Struct, array_like=True, frozen=True):
    """A method of the node and its bound arguments."""

    method: str
    params: list[Any]


class Answer(msgspec.Struct, array_like=True, frozen=True):
    """The result as JSON text, or an error's code and message."""

    result: bytes | None
    code: int = 0
    message: str = ""


def _in_64_bits(value: Any) -> Any:
    """Return a JSON value whose larger integers are floats: out of every range too, and they can be sent."""
    if isinstance(value, list):
        return [_in_64_bits(each) for each in value]
    if isinstance(value, dict):
        return {name: _in_64_bits(each) for name, each in value.items()}
    if not isinstance(value, int) or -(1 << 63) <= value < 1 << 64:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


class ControlLink:
    """Asks the node over its unix socket. Belongs to the event loop that first calls it."""

    def __init__(self, path: Path) -> None:
        self._endpoint = f"ipc://{path}"
        self._ids = itertools.count(1)
        self._waiting: dict[bytes, asyncio.Future[Answer]] = {}
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(Answer)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receiver: asyncio.Task[None] | None = None
        self._node_is_gone = False

    def connect(self) -> None:
        """Open the socket in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._context = zmq.asyncio.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.SNDHWM, 0)
        self._socket.setsockopt(zmq.RCVHWM, 0)
        self._socket.connect(self._endpoint)
        self._receiver = self._loop.create_task(self._receive())

    async def call(self, method: str, params: Sequence[Any]) -> bytes:
        """Run a NODE method and return its result as JSON. Raises RpcError."""
        assert self._loop is not None, "connect() comes first"
        if self._node_is_gone:
            raise _not_connected("The node is gone")
        call_id = next(self._ids).to_bytes(8, "big")
        waiting: asyncio.Future[Answer] = self._loop.create_future()
        self._waiting[call_id] = waiting
        try:
            await self._socket.send_multipart([call_id, self._encoded(method, list(params))])
            answer = await waiting
        except asyncio.CancelledError:
            # The client has left: the node need not wait for what he asked for.
            if self._receiver is not None:
                self._socket.send(call_id)
            raise
        finally:
            self._waiting.pop(call_id, None)
        if answer.result is None:
            raise RpcError(answer.code, answer.message)
        return answer.result

    def _encoded(self, method: str, params: list[Any]) -> bytes:
        try:
            return self._encoder.encode(Call(method, params))
        except OverflowError:
            return self._encoder.encode(Call(method, _in_64_bits(params)))

    def call_raw(self, method: str, params: Sequence[Any]) -> bytes:
        """Run a NODE method from a thread that isn't the event loop's and return its result as JSON."""
        assert self._loop is not None, "connect() comes first"
        return asyncio.run_coroutine_threadsafe(self.call(method, params), self._loop).result()

    def call_blocking(self, method: str, params: Sequence[Any]) -> Any:
        """Do the same and decode the result."""
        return orjson.loads(self.call_raw(method, params))

    async def close(self) -> None:
        """Close the socket; calls that wait are answered with -9."""
        if self._receiver is not None:
            self._receiver.cancel()
            await asyncio.gather(self._receiver, return_exceptions=True)
            self._receiver = None
            self._socket.close()
            self._context.term()
        self._refuse_waiting("Shutting down")

    def give_up(self) -> None:
        """Answer the calls that wait, and all that come, with -9: the node was killed. May be called from any thread."""
        self._node_is_gone = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # The loop has ended, and with it every call.
                self._loop.call_soon_threadsafe(self._refuse_waiting, "The node is gone")

    def _refuse_waiting(self, message: str) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(_not_connected(message))

    async def _receive(self) -> None:
        while True:
            call_id, payload = await self._socket.recv_multipart()
            waiting = self._waiting.get(call_id)
            if waiting is not None and not waiting.done():
                waiting.set_result(self._decoder.decode(payload))


def _not_connected(message: str) -> RpcError:
    return RpcError(RpcCode.CLIENT_NOT_CONNECTED, message)


def _give_up(running: "Future[bytes | Waiting]") -> None:
    """End the waiting of a call that nobody wants the answer of."""
    if not running.cancelled() and running.exception() is None:
        result = running.result()
        if isinstance(result, Waiting):
            result.ready.cancel()


class DirectLink:
    """Runs NODE methods in this process, on threads of its own so that the event loop goes on."""

    def __init__(self, methods: CallRunner, *, threads: int = 16) -> None:
        self._methods = methods
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="rpc")

    def connect(self) -> None:
        """Nothing to open."""

    async def call(self, method: str, params: Sequence[Any]) -> bytes:
        """Run a NODE method and return its result as JSON. Raises RpcError. A call that waits keeps no thread busy."""
        result = await self._in_pool(method, self._methods.start, method, params)
        while isinstance(result, Waiting):
            await asyncio.wrap_future(result.ready)
            result = await self._in_pool(method, self._methods.resume, result)
        return result

    async def _in_pool(self, method: str, step: Callable[..., bytes | Waiting], *args: Any) -> bytes | Waiting:
        running = self._pool.submit(step, *args)
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            running.add_done_callback(_give_up)
            raise
        except Exception as error:
            raise as_rpc_error(error, method) from None

    def call_blocking(self, method: str, params: Sequence[Any]) -> Any:
        """Run a NODE method on the calling thread and return the decoded result."""
        return orjson.loads(self.call_raw(method, params))

    def call_raw(self, method: str, params: Sequence[Any]) -> bytes:
        """Run a NODE method on the calling thread and return its result as JSON. Raises RpcError."""
        try:
            return self._methods.run(method, params)
        except Exception as error:
            raise as_rpc_error(error, method) from None

    async def close(self) -> None:
        """Let running calls finish."""
        await asyncio.get_running_loop().run_in_executor(None, self._pool.shutdown)
