"""The comparison: script workers that take batches from one queue, whose lock all of them want.

Owns: a check queue over `multiprocessing.Queue`, for the bench alone. Never: the node's work.
"""

import multiprocessing
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from typing import Any

from clarion.node.consensus.connect import ScriptJob
from clarion.node.validation.batches import NO_FAILURE, make_batches
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.inline_queue import check_units
from clarion.node.validation.wire import decode_answer, decode_batch, encode_answer, encode_batch

_context = multiprocessing.get_context("spawn")


def _work(batches: Any, answers: Any) -> None:
    while (message := batches.get()) is not None:
        flags, units = decode_batch(message)
        answers.put(encode_answer(check_units(units, flags, lambda: NO_FAILURE)))


class ContendedQueue:
    """`workers` processes around one queue of batches and one of answers."""

    def __init__(self, workers: int, batch: int) -> None:
        self._count = workers
        self._batch = batch
        self._batches = _context.Queue()
        self._answers = _context.Queue()
        self._workers: list[BaseProcess] = []

    def start(self) -> None:
        """Start the workers."""
        for _ in range(self._count):
            worker = _context.Process(target=_work, args=(self._batches, self._answers), daemon=True)
            worker.start()
            self._workers.append(worker)

    def check(self, jobs: Sequence[ScriptJob], flags: int) -> ScriptFailure | None:
        """Run the scripts of all inputs of `jobs` under `flags`. It does not stop early."""
        batches = make_batches(jobs, self._batch)
        for batch in batches:
            self._batches.put(encode_batch(batch, flags))
        answers = [decode_answer(self._answers.get()) for _ in batches]
        found = [answer for answer in answers if answer is not None]
        return min(found).failure if found else None

    def close(self) -> None:
        """End the workers."""
        for _ in self._workers:
            self._batches.put(None)
        for worker in self._workers:
            worker.join()
