"""Script checks that run while the caller goes on.

Owns: the script cache in front of a check queue, and which checks are not worth a hand-over. Never: running checks.
"""

from collections.abc import Sequence
from concurrent.futures import Future

from clarion.node.consensus.connect import ScriptJob
from clarion.node.validation.check_queue import CheckQueue, ScriptFailure
from clarion.node.validation.inline_queue import InlineQueue
from clarion.node.validation.script_cache import ScriptCache

INLINE_CHECKS = 16
"""Up to this many checks are made by the caller: handing them over would take as long."""


class ScriptPipeline:
    """Checks blocks in the order in which they are submitted."""

    def __init__(self, checks: CheckQueue, cache: ScriptCache | None = None) -> None:
        """The queue is the caller's to start and to close."""
        self._checks = checks
        self._cache = ScriptCache(0) if cache is None else cache
        self._inline = InlineQueue()

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        """Return the coming result: the first failed check in block order, None if all pass.

        Transactions that the script cache knows under these flags are not checked again.
        """
        jobs = self._cache.unknown(jobs, flags)
        if _fewer_checks_than(jobs, INLINE_CHECKS):
            return self._inline.submit(jobs, flags)
        return self._checks.submit(jobs, flags)

    def remember(self, jobs: Sequence[ScriptJob], flags: int) -> None:
        """Put transactions whose scripts have passed under `flags` into the script cache."""
        for job in jobs:
            self._cache.add(job.tx.wtxid, flags)


def _fewer_checks_than(jobs: Sequence[ScriptJob], limit: int) -> bool:
    return len(jobs) < limit and sum(len(job.spent_outputs) for job in jobs) < limit
