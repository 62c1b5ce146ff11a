"""Script checks of several blocks on their way through the workers, one block behind the other.

Owns: which worker gets which batch next, and putting answers together. Never: threads, cutting, encoding.
The workers go on with the next block while the last batches of the one before are checked, so that none waits at a
block's end. Positions count on through the blocks, since the workers know one lowest failed position only.
"""

import logging
import os
import selectors
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future

from clarion.node.errors import ClarionError
from clarion.node.validation.batches import NO_FAILURE, Batch
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.inline_queue import Found
from clarion.node.validation.wire import decode_answer, encode_batch
from clarion.node.validation.worker import SharedPosition
from clarion.node.validation.worker_process import WorkerProcess

LEAST_IN_FLIGHT = 2
"""Batches on their way to each worker, so that it has the next one when it answers."""
MOST_IN_FLIGHT = 8
"""The same while there are many more: then workers can go on where this thread is late to feed them, since it has to wait
for the interpreter's lock. Where few are left, they should be shared out evenly."""
MAX_BATCH_BYTES = 40 << 10
"""Some of these fit in a pipe. Where one does not, sending waits until the worker has taken another out."""
MAX_DEATHS = 10
"""More workers than this dying in one block is no accident."""

logger = logging.getLogger(__name__)


class BlockChecks:
    """One block's checks: its batches, how many of them are claimed and answered, and the first failure so far."""

    def __init__(self, batches: Sequence[Batch], flags: int) -> None:
        self.batches = batches
        self.flags = flags
        self.future: Future[ScriptFailure | None] = Future()
        self.base = 0
        """Inputs of all blocks before it in the stream."""
        self.begin()

    def begin(self) -> None:
        """Have every batch checked, whatever was checked before."""
        self.claimed = 0
        self.unanswered = 0
        self.found: Found | None = None

    @property
    def end(self) -> int:
        """The position behind its last input."""
        if not self.batches:
            return self.base
        last = self.batches[-1][-1]
        return self.base + last.position + last.end

    @property
    def all_claimed(self) -> bool:
        """Whether no batch is left that is worth checking: behind a failed check none is."""
        return self.found is not None or self.claimed == len(self.batches)

    @property
    def done(self) -> bool:
        """Whether its result is known."""
        return not self.unanswered and self.all_claimed

    def note(self, found: Found) -> None:
        """Take note of a failed check."""
        if self.found is None or found < self.found:
            self.found = found


Claim = tuple[BlockChecks, Batch]
Worker = WorkerProcess[Claim]


class Stream:
    """The blocks in work, for as long as there are any. Used by one thread."""

    def __init__(self, workers: list[Worker], first_failure: SharedPosition, wake_end: int) -> None:
        """`workers` have nothing to do yet; one that dies is replaced in the list. `wake_end` ends a wait."""
        self._workers = workers
        self._first_failure = first_failure
        self._again: deque[Claim] = deque()
        self._unclaimed = 0
        self._deaths = 0
        self._wake_end = wake_end
        self.blocks: deque[BlockChecks] = deque()
        first_failure.value = NO_FAILURE
        self._selector = selectors.DefaultSelector()
        self._selector.register(wake_end, selectors.EVENT_READ)
        for worker in workers:
            self._selector.register(worker.pipe, selectors.EVENT_READ, worker)

    def close(self) -> None:
        """Let go of what waiting needs; the workers live on."""
        self._selector.close()

    @property
    def busy(self) -> bool:
        """Whether a block is in work."""
        return bool(self.blocks)

    def add(self, block: BlockChecks) -> None:
        """Take a block behind the others."""
        block.base = self.blocks[-1].end if self.blocks else 0
        self.blocks.append(block)
        self._unclaimed += len(block.batches)
        self._settle()

    def step(self) -> None:
        """Feed the workers, wait for an answer or a wake-up, and take what came. Raises ClarionError."""
        for _ in range(MOST_IN_FLIGHT):
            for worker in list(self._workers):
                self._feed(worker)
        for key, _ in self._selector.select() if self.blocks else ():
            if key.data is None:
                os.read(self._wake_end, 4096)
            else:
                self._answer(key.data)
        self._settle()

    def _feed(self, worker: Worker) -> None:
        share = self._unclaimed // (2 * len(self._workers))
        if len(worker.waiting) >= min(max(share, LEAST_IN_FLIGHT), MOST_IN_FLIGHT) or (claim := self._next()) is None:
            return
        worker.waiting.append(claim)
        block, batch = claim
        try:
            worker.pipe.send_bytes(encode_batch(batch, block.flags, block.base))
        except OSError:
            self._replace(worker)

    def _next(self) -> Claim | None:
        if self._again:
            return self._again.popleft()
        for block in self.blocks:
            if not block.all_claimed:
                batch = block.batches[block.claimed]
                block.claimed += 1
                block.unanswered += 1
                self._unclaimed -= 1
                return block, batch
            if block.found is not None:
                # The flag of the failure stops the checks of all later blocks too.
                return None
        return None

    def _answer(self, worker: Worker) -> None:
        try:
            message = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            self._replace(worker)
            return
        block, _ = worker.waiting.popleft()
        block.unanswered -= 1
        found = decode_answer(message)
        if found is not None:
            block.note(found)
        self._feed(worker)

    def _settle(self) -> None:
        """Tell the results that are known, in the order of the blocks."""
        while self.blocks and self.blocks[0].done:
            block = self.blocks[0]
            if block.found is not None and any(worker.waiting for worker in self._workers):
                # What later blocks answer is worth nothing, but must not be taken for answers of their second run.
                return
            self.blocks.popleft()
            self._deaths = 0
            if block.found is None:
                block.future.set_result(None)
            else:
                self._first_failure.value = NO_FAILURE
                self._again.clear()
                for later in self.blocks:
                    later.begin()
                self._unclaimed = sum(len(later.batches) for later in self.blocks)
                block.future.set_result(block.found.failure)

    def _replace(self, dead: Worker) -> None:
        """Put a new worker in a dead one's place and have its batches checked again."""
        self._deaths += 1
        logger.warning("Script worker %d (pid %d) died; starting another", dead.number, dead.pid)
        if self._deaths > MAX_DEATHS:
            raise ClarionError(f"{self._deaths} script workers died while checking one block")
        self._again.extend(dead.waiting)
        dead.waiting.clear()
        self._selector.unregister(dead.pipe)
        dead.pipe.close()
        dead.join()
        fresh: Worker = WorkerProcess(dead.number, self._first_failure)
        self._workers[self._workers.index(dead)] = fresh
        self._selector.register(fresh.pipe, selectors.EVENT_READ, fresh)
