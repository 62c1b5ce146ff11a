"""The script pipeline: order, small blocks, the cache, errors."""

import threading
from collections.abc import Iterator, Sequence

import pytest

from clarion.node.consensus.connect import ScriptJob
from clarion.node.errors import ClarionError
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


class HeldQueue:
    """Answers when it is let go, and says what it was asked on which thread."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.sizes: list[int] = []
        self.threads: set[str] = set()
        self.error: Exception | None = None

    def start(self) -> None: ...

    def check(self, jobs: Sequence[ScriptJob], flags: int) -> ScriptFailure | None:
        assert self.go.wait(10)
        self.sizes.append(len(jobs))
        self.threads.add(threading.current_thread().name)
        if self.error is not None:
            raise self.error
        return None

    def close(self) -> None: ...


@pytest.fixture
def held() -> HeldQueue:
    return HeldQueue()


@pytest.fixture
def pipeline(held: HeldQueue) -> Iterator[ScriptPipeline]:
    pipeline = ScriptPipeline(held, ScriptCache(1 << 20))
    yield pipeline
    held.go.set()
    pipeline.close()


def test_the_caller_goes_on_and_blocks_are_checked_in_order(pipeline: ScriptPipeline, held: HeldQueue) -> None:
    futures = [pipeline.submit(make_jobs(count), 0) for count in (40, 30, 20)]
    assert not any(future.done() for future in futures)
    held.go.set()
    assert [future.result(10) for future in futures] == [None, None, None]
    assert held.sizes == [40, 30, 20]
    assert held.threads == {"scripts"}


def test_a_small_block_is_checked_at_once(pipeline: ScriptPipeline, held: HeldQueue) -> None:
    future = pipeline.submit(make_jobs(INLINE_CHECKS - 1, OP_FALSE), 0)
    assert future.done()
    assert future.result() == ScriptFailure(1, 0, ScriptError.EVAL_FALSE)
    assert held.sizes == []


def test_what_was_remembered_is_not_checked_again(pipeline: ScriptPipeline, held: HeldQueue) -> None:
    jobs = make_jobs(40)
    pipeline.remember(jobs[:39], 0)
    assert pipeline.submit(jobs, 0).done()
    held.go.set()
    assert pipeline.submit(jobs, 1).result(10) is None
    assert held.sizes == [40]


def test_an_error_of_the_queue_reaches_the_caller(pipeline: ScriptPipeline, held: HeldQueue) -> None:
    held.error = ClarionError("11 script workers died")
    held.go.set()
    with pytest.raises(ClarionError, match="11 script workers"):
        pipeline.submit(make_jobs(40), 0).result(10)
