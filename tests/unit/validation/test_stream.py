"""The stream of blocks through the workers: whose batches go out when, and what a failure does to later blocks."""

import multiprocessing
import os
from collections import deque
from collections.abc import Iterator
from ctypes import c_longlong
from multiprocessing.connection import Connection
from typing import cast

import pytest

from clarion.node.consensus.connect import ScriptJob
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.errors import ScriptError
from clarion.node.validation.batches import NO_FAILURE, make_batches
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.inline_queue import Found
from clarion.node.validation.stream import LEAST_IN_FLIGHT, MOST_IN_FLIGHT, BlockChecks, Stream, Worker
from clarion.node.validation.wire import decode_batch, encode_answer


def checks(count: int) -> BlockChecks:
    """A block with this many batches of one check each."""
    txs = [Transaction(2, [TxIn(OutPoint(bytes(36)))], [TxOut(1, b"\x51")]) for _ in range(count)]
    jobs = [ScriptJob(tx, [Coin(1, b"\x51", 0)], index) for index, tx in enumerate(txs, 1)]
    return BlockChecks(make_batches(jobs, 1), 0)


class OtherEnd:
    """Stands for a worker: the test sees what it was sent and answers."""

    def __init__(self) -> None:
        self.waiting: deque[object] = deque()
        self.pipe, self._child_end = multiprocessing.Pipe()

    def take(self) -> list[int]:
        """Return the positions of the batches that have come."""
        found = []
        while self._child_end.poll():
            _, units = decode_batch(self._child_end.recv_bytes())
            found += [unit.position for unit in units]
        return found

    def answer(self, found: Found | None = None) -> None:
        """Answer the oldest batch."""
        cast("Connection[bytes, bytes]", self._child_end).send_bytes(encode_answer(found))


@pytest.fixture
def end() -> OtherEnd:
    return OtherEnd()


@pytest.fixture
def flag() -> c_longlong:
    return c_longlong(5)


@pytest.fixture
def stream(end: OtherEnd, flag: c_longlong) -> Iterator[Stream]:
    wake_end, waking_end = os.pipe()
    made = Stream([cast("Worker", end)], flag, wake_end)
    yield made
    made.close()
    os.close(wake_end)
    os.close(waking_end)


def test_the_next_block_goes_out_before_the_last_answers_of_the_first(stream: Stream, end: OtherEnd) -> None:
    blocks = [checks(LEAST_IN_FLIGHT + 1), checks(1)]
    for block in blocks:
        stream.add(block)
    for _ in range(2):
        end.answer()
        stream.step()
    assert end.take() == [0, 1, 2, 3]
    assert not blocks[0].future.done()


@pytest.mark.parametrize(("left", "sent"), [(3, LEAST_IN_FLIGHT), (12, 4), (60, MOST_IN_FLIGHT)])
def test_the_more_is_left_the_more_is_on_its_way(stream: Stream, end: OtherEnd, left: int, sent: int) -> None:
    stream.add(checks(left))
    end.answer()
    stream.step()
    assert len(end.take()) == sent + 1


def test_results_come_in_the_order_of_the_blocks(stream: Stream, end: OtherEnd) -> None:
    blocks = [checks(1), checks(0), checks(1)]
    for block in blocks:
        stream.add(block)
    end.answer()
    stream.step()
    assert [block.future.done() for block in blocks] == [True, True, False]
    end.answer()
    stream.step()
    assert blocks[2].future.result(0) is None
    assert not stream.busy


def test_behind_a_failure_later_blocks_are_checked_again(stream: Stream, end: OtherEnd, flag: c_longlong) -> None:
    bad, good = checks(1), checks(1)
    stream.add(bad)
    stream.add(good)
    flag.value = 0
    failure = ScriptFailure(1, 0, ScriptError.SIG_DER)
    end.answer(Found(0, failure))
    stream.step()
    assert not bad.future.done()
    end.answer()
    stream.step()
    assert bad.future.result(0) == failure
    assert (flag.value, good.future.done(), end.take()) == (NO_FAILURE, False, [0, 1])
    end.answer()
    stream.step()
    assert good.future.result(0) is None
    assert end.take() == [1]
