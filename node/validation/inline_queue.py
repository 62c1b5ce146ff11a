"""Checks scripts on the caller's thread, and the loop that all queues share.

Owns: checking the inputs of one batch, stopping behind a failure. Never: threads, processes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from clarion.node.consensus.connect import ScriptJob
from clarion.node.script.errors import ScriptError
from clarion.node.script.sighash import PrecomputedTxData
from clarion.node.script.verify import verify_input
from clarion.node.validation.batches import NO_FAILURE, Unit
from clarion.node.validation.check_queue import ScriptFailure


class Found(NamedTuple):
    """A failed check by its position in block order."""

    position: int
    failure: ScriptFailure


def check_units(units: Iterable[Unit], flags: int, first_failure: Callable[[], int]) -> Found | None:
    """Check the inputs of `units` in order and return the first that fails.

    Between two checks `first_failure` is asked for the lowest position that is known to fail: what lies behind it
    matters no more.
    """
    for job, first, end, position in units:
        txdata = PrecomputedTxData(job.tx, job.spent_outputs)
        for index in range(first, end):
            if position + index > first_failure():
                return None
            error: ScriptError | None = verify_input(job.tx, index, job.spent_outputs, flags, txdata)
            if error is not None:
                return Found(position + index, ScriptFailure(job.tx_index, index, error))
    return None


class InlineQueue:
    """No workers: one check after the other, on the caller's thread."""

    def start(self) -> None:
        """Nothing to start."""

    def check(self, jobs: Sequence[ScriptJob], flags: int) -> ScriptFailure | None:
        """Run the scripts of all inputs of `jobs` under `flags`."""
        units = (Unit(job, 0, len(job.spent_outputs), 0) for job in jobs)
        found = check_units(units, flags, lambda: NO_FAILURE)
        return found.failure if found else None

    def close(self) -> None:
        """Nothing to end."""
