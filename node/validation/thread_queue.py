"""Checks scripts on threads of this process.

Owns: the threads and how they end. Never: how work is cut (batches).
Signature checks leave the interpreter lock, Python around them does not: this queue gains little, but needs no copies.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from clarion.node.consensus.connect import ScriptJob
from clarion.node.validation.batches import NO_FAILURE, Claims, make_batches
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.inline_queue import Found, check_units, cut_units


class ThreadQueue:
    """`workers` threads that claim `batch` checks at a time."""

    def __init__(self, workers: int, batch: int) -> None:
        self._workers = workers
        self._batch = batch
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="scriptch")
        self._turns = ThreadPoolExecutor(1, thread_name_prefix="scripts")

    def start(self) -> None:
        """Nothing to start: threads come with their first work."""

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        """Return the coming result of the scripts of all inputs of `jobs` under `flags`."""
        return self._turns.submit(self.check, jobs, flags)

    def check(self, jobs: Sequence[ScriptJob], flags: int) -> ScriptFailure | None:
        """Run the scripts of all inputs of `jobs` under `flags`."""
        run = _Run(Claims(make_batches(jobs, self._batch)), flags)
        futures = [self._pool.submit(run.work) for _ in range(self._workers)]
        found = [result for future in futures if (result := future.result()) is not None]
        return min(found).failure if found else None

    def close(self) -> None:
        """Finish what was submitted and end the threads."""
        self._turns.shutdown()
        self._pool.shutdown()


class _Run:
    """One block's checks, shared by the threads. Their only common state is the counter and the first failure."""

    def __init__(self, claims: Claims, flags: int) -> None:
        self._claims = claims
        self._flags = flags
        self._first_failure = NO_FAILURE

    def work(self) -> Found | None:
        """Claim and check until there is nothing left or a check fails. Runs on a worker's thread."""
        while (batch := self._claims.claim()) is not None:
            if batch[0].position + batch[0].first > self._first_failure:
                return None
            found = check_units(cut_units(batch), self._flags, lambda: self._first_failure)
            if found is not None:
                # Two threads may write at once and leave the higher position: then more is checked than need be.
                self._first_failure = min(self._first_failure, found.position)
                return found
        return None
