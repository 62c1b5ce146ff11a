"""Runs RPC methods for the API: here on a snapshot, or in the node through the link.

Owns: the warm-up question, the choice of thread, and what becomes of exceptions. Never: JSON-RPC's envelope, HTTP.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import orjson

from clarion.api.rpc import registry
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.node_methods import as_rpc_error, load_methods
from clarion.node.errors import RpcError


class Executor:
    """Calls methods by name. Belongs to one event loop."""

    def __init__(self, context: ReaderContext) -> None:
        load_methods()
        self.context = context
        self._ready = False
        self._pool = ThreadPoolExecutor(context.settings.rpc_threads, thread_name_prefix="reader")
        self._tickets = count()

    async def check_ready(self) -> None:
        """Raise RpcError -28 with the node's message while it starts. Once ready, a node stays so."""
        if self._ready:
            return
        status = orjson.loads(await self.context.node.call("_status", []))
        if not status["ready"]:
            raise RpcError(RpcCode.IN_WARMUP, status["message"])
        self._ready = True

    async def execute(
        self, name: str, params: registry.Params, left: Callable[[], Awaitable[None]] | None = None
    ) -> Any:
        """Return the result of method `name`, ready for orjson. Raises RpcError.

        `left` returns when the client has left; it is asked only for calls that may wait for ever.
        """
        await self.check_ready()
        method = registry.find(name)
        if method is None:
            raise RpcError(RpcCode.METHOD_NOT_FOUND, "Method not found")
        ticket = next(self._tickets)
        self.context.active[ticket] = (name, time.monotonic())
        try:
            values = registry.bind(method, params)
            if method.where is registry.NODE:
                call = self.context.node.call(name, values)
                if method.waits and left is not None:
                    return orjson.Fragment(await _unless_left(call, left()))
                return orjson.Fragment(await call)
            if method.heavy:
                return orjson.Fragment(await self.run_in_thread(_encoded, method.handler, self.context, *values))
            return method.handler(self.context, *values)
        except Exception as error:
            raise as_rpc_error(error, name) from None
        finally:
            del self.context.active[ticket]

    async def run_in_thread(self, function: Any, *args: Any) -> Any:
        """Run a function that takes its time, so that small answers are not delayed."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *args)

    def close(self) -> None:
        """Let running methods finish and close the database."""
        self._pool.shutdown()
        self.context.close()


async def _unless_left(call: Awaitable[bytes], left: Awaitable[None]) -> bytes:
    """Return the answer of `call`; once `left` has come true it is cancelled, and RpcError -9 raised to nobody."""
    answer, gone = asyncio.ensure_future(call), asyncio.ensure_future(left)
    try:
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        raise RpcError(RpcCode.CLIENT_NOT_CONNECTED, "The client has left")
    finally:
        answer.cancel()
        gone.cancel()


def _encoded(handler: Any, *args: Any) -> bytes:
    """Encode in the thread too: a block of 4 MB takes orjson several milliseconds. Bytes are JSON already."""
    result = handler(*args)
    return result if isinstance(result, bytes) else orjson.dumps(result)
