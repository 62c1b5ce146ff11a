"""Script checks that run while the caller goes on: blocks are queued and checked one after the other.

Owns: the thread that waits for a check queue, the script cache in front of it, and which checks are not worth a
hand-over. Never: running checks.
"""

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from clarion.node.consensus.connect import ScriptJob
from clarion.node.validation.check_queue import CheckQueue, ScriptFailure
from clarion.node.validation.inline_queue import InlineQueue
from clarion.node.validation.script_cache import ScriptCache

INLINE_CHECKS = 16
"""Up to this many checks are made by the caller: handing them over would take as long."""

_Work = tuple[Sequence[ScriptJob], int, "Future[ScriptFailure | None]"]


class ScriptPipeline:
    """Checks blocks in the order in which they are submitted. One thread submits."""

    def __init__(self, checks: CheckQueue, cache: ScriptCache | None = None) -> None:
        self._checks = checks
        self._cache = ScriptCache(0) if cache is None else cache
        self._inline = InlineQueue()
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        """Return the coming result: the first failed check in block order, None if all pass.

        Transactions that the script cache knows under these flags are not checked again.
        """
        future: Future[ScriptFailure | None] = Future()
        jobs = self._cache.unknown(jobs, flags)
        if isinstance(self._checks, InlineQueue) or _fewer_checks_than(jobs, INLINE_CHECKS):
            future.set_result(self._inline.check(jobs, flags))
            return future
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="scripts", daemon=True)
            self._thread.start()
        self._work.put((jobs, flags, future))
        return future

    def remember(self, jobs: Sequence[ScriptJob], flags: int) -> None:
        """Put transactions whose scripts have passed under `flags` into the script cache."""
        for job in jobs:
            self._cache.add(job.tx.wtxid, flags)

    def close(self) -> None:
        """Finish what was submitted and end the thread. The queue is the caller's to close."""
        if self._thread is not None:
            self._work.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            jobs, flags, future = work
            try:
                future.set_result(self._checks.check(jobs, flags))
            except BaseException as error:
                future.set_exception(error)


def _fewer_checks_than(jobs: Sequence[ScriptJob], limit: int) -> bool:
    return len(jobs) < limit and sum(len(job.spent_outputs) for job in jobs) < limit
