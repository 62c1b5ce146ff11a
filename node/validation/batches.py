"""Cuts the script checks of a block into batches that workers claim.

Owns: where the cuts are and the order of claims. Never: running checks.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    # Workers import this module and need none of the rules.
    from clarion.node.consensus.connect import ScriptJob


NO_FAILURE = (1 << 63) - 1
"""Position behind every check: nothing has failed yet."""

MAX_CUTS = 16
"""Parts that one transaction is cut into at most: enough for any number of cores to share the largest."""


class Unit(NamedTuple):
    """The inputs `first` to `end - 1` of one job. `position` counts all inputs before the job, in block order."""

    job: "ScriptJob"
    first: int
    end: int
    position: int


Batch = list[Unit]


def make_batches(jobs: "Sequence[ScriptJob]", size: int, max_bytes: int = 1 << 62) -> list[Batch]:
    """Return batches of whole transactions with `size` checks or a little more each, in block order.

    A transaction with more inputs than that is cut, so that it does not keep one worker busy alone; at most into
    `MAX_CUTS` parts, since each part takes the whole transaction along. A batch also ends once its transactions have
    `max_bytes` bytes.
    """
    batches: list[Batch] = []
    batch: Batch = []
    checks = length = position = 0
    for job in jobs:
        count = len(job.spent_outputs)
        step = max(size, -(-count // MAX_CUTS))
        for first in range(0, count, step):
            end = min(first + step, count)
            batch.append(Unit(job, first, end, position))
            checks += end - first
            length += len(job.tx.raw)
            if checks >= size or length >= max_bytes:
                batches.append(batch)
                batch, checks, length = [], 0, 0
        position += count
    if batch:
        batches.append(batch)
    return batches


class Claims:
    """Hands out batches by an atomic counter: the list only grows, so a claim needs no lock."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._batches = batches
        self._next: Iterator[int] = itertools.count()

    def claim(self) -> Batch | None:
        """Return the next batch that nobody has claimed, None if there is none. Safe from any thread."""
        index = next(self._next)
        return self._batches[index] if index < len(self._batches) else None
