"""An event loop on a thread of its own, for client libraries that live in asyncio while lanes are plain threads.

Owns: the loop and its thread. Never: what runs there. It keeps running between messages, so heartbeats are answered.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Starts at first use; `close` ends it, and what still runs there."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        """Return what `work` returns. Raises what it raises, and TimeoutError; then it is cancelled."""
        running = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return running.result(timeout_s)
        except concurrent.futures.TimeoutError:
            running.cancel()
            raise TimeoutError(f"no answer within {timeout_s:g} s") from None

    def close(self) -> None:
        """Cancel what runs and end the thread."""
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True)
            self._thread.start()
        return self._loop


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
