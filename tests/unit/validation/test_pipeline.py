"""The script pipeline: the hand-over, small blocks, the cache."""

from collections.abc import Sequence
from concurrent.futures import Future

import pytest

from clarion.node.consensus.connect import ScriptJob
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.errors import ScriptError
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.pipeline import INLINE_CHECKS, ScriptPipeline
from clarion.node.validation.script_cache import ScriptCache

OP_TRUE, OP_FALSE = b"\x51", b"\x00"


def make_jobs(count: int, script: bytes = OP_TRUE) -> list[ScriptJob]:
    txs = [Transaction(2, [TxIn(make_outpoint(bytes(32), number))], [TxOut(1, script)]) for number in range(count)]
    return [ScriptJob(tx, [Coin(1, script, 0)], index + 1) for index, tx in enumerate(txs)]


class NotingQueue:
    """Says what it was asked, and answers when it is told."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.futures: list[Future[ScriptFailure | None]] = []

    def start(self) -> None: ...

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        self.sizes.append(len(jobs))
        self.futures.append(Future())
        return self.futures[-1]

    def check(self, jobs: Sequence[ScriptJob], flags: int) -> ScriptFailure | None:
        return self.submit(jobs, flags).result()

    def close(self) -> None: ...


@pytest.fixture
def queue() -> NotingQueue:
    return NotingQueue()


@pytest.fixture
def pipeline(queue: NotingQueue) -> ScriptPipeline:
    return ScriptPipeline(queue, ScriptCache(1 << 20))


def test_the_caller_goes_on(pipeline: ScriptPipeline, queue: NotingQueue) -> None:
    futures = [pipeline.submit(make_jobs(count), 0) for count in (40, 30, 20)]
    assert not any(future.done() for future in futures)
    assert queue.sizes == [40, 30, 20]
    assert futures == queue.futures


def test_a_small_block_is_checked_at_once(pipeline: ScriptPipeline, queue: NotingQueue) -> None:
    future = pipeline.submit(make_jobs(INLINE_CHECKS - 1, OP_FALSE), 0)
    assert future.done()
    assert future.result() == ScriptFailure(1, 0, ScriptError.EVAL_FALSE)
    assert queue.sizes == []


def test_what_was_remembered_is_not_checked_again(pipeline: ScriptPipeline, queue: NotingQueue) -> None:
    jobs = make_jobs(40)
    pipeline.remember(jobs[:39], 0)
    assert pipeline.submit(jobs, 0).done()
    assert not pipeline.submit(jobs, 1).done()
    assert queue.sizes == [40]
