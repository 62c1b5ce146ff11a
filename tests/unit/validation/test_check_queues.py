"""One suite for the three check queues: what fails, which failure is told, and that all agree."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from clarion.node.consensus.connect import ScriptJob
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.errors import ScriptError
from clarion.node.script.flags import SCRIPT_VERIFY_P2SH
from clarion.node.validation.batches import NO_FAILURE, make_batches
from clarion.node.validation.check_queue import CheckQueue, ScriptFailure, make_check_queue
from clarion.node.validation.inline_queue import Found, check_units
from clarion.node.validation.wire import decode_answer, decode_batch, encode_answer, encode_batch

OP_TRUE, OP_FALSE, OP_RETURN = b"\x51", b"\x00", b"\x6a"
FLAGS = SCRIPT_VERIFY_P2SH


def job(index: int, *scripts: bytes) -> ScriptJob:
    """A transaction that spends outputs with these scripts, which need no signature."""
    inputs = [TxIn(OutPoint(index.to_bytes(32, "little") + i.to_bytes(4, "little"))) for i in range(len(scripts))]
    return ScriptJob(Transaction(2, inputs, [TxOut(1, OP_TRUE)]), [Coin(1, script, 0) for script in scripts], index)


@pytest.fixture(scope="module", params=["inline", "threads", "processes"])
def queue(request: pytest.FixtureRequest) -> Iterator[CheckQueue]:
    made = make_check_queue(2, 4, request.param)
    made.start()
    yield made
    made.close()


def test_nothing_to_check(queue: CheckQueue) -> None:
    assert queue.check([], FLAGS) is None


def test_all_valid(queue: CheckQueue) -> None:
    assert queue.check([job(i, OP_TRUE, OP_TRUE) for i in range(1, 50)], FLAGS) is None


def test_failure_names_transaction_input_and_error(queue: CheckQueue) -> None:
    jobs = [job(i, OP_TRUE, OP_TRUE, OP_TRUE) for i in range(1, 40)]
    jobs[20] = job(21, OP_TRUE, OP_TRUE, OP_RETURN)
    assert queue.check(jobs, FLAGS) == ScriptFailure(21, 2, ScriptError.OP_RETURN)


def test_first_failure_in_block_order_wins(queue: CheckQueue) -> None:
    jobs = [job(i, *[OP_TRUE] * 3) for i in range(1, 40)]
    for bad in (7, 8, 30, 38):
        jobs[bad - 1] = job(bad, OP_TRUE, OP_FALSE, OP_FALSE)
    for _ in range(5):
        assert queue.check(jobs, FLAGS) == ScriptFailure(7, 1, ScriptError.EVAL_FALSE)


def test_queue_goes_on_after_a_failure(queue: CheckQueue) -> None:
    assert queue.check([job(1, OP_FALSE)], FLAGS) is not None
    assert queue.check([job(1, OP_TRUE)], FLAGS) is None


def test_failure_in_a_cut_transaction(queue: CheckQueue) -> None:
    scripts = [OP_TRUE] * 30
    scripts[17] = OP_FALSE
    assert queue.check([job(1, *scripts)], FLAGS) == ScriptFailure(1, 17, ScriptError.EVAL_FALSE)


@pytest.mark.parametrize(
    ("par", "kind", "expected"),
    [
        (1, None, "InlineQueue"),
        (2, None, "ProcessQueue"),
        (1, "processes", "ProcessQueue"),
        (4, "inline", "InlineQueue"),
        (2, "threads", "ThreadQueue"),
    ],
)
def test_choice_of_queue(par: int, kind: str | None, expected: str) -> None:
    queue = make_check_queue(par, 10, kind)
    assert type(queue).__name__ == expected
    queue.close()


def test_nothing_behind_a_known_failure_is_checked() -> None:
    jobs = [job(1, OP_TRUE, OP_FALSE), job(2, OP_FALSE)]
    units = make_batches(jobs, 10)[0]
    assert check_units(units, FLAGS, lambda: 0) is None
    found = check_units(units, FLAGS, lambda: NO_FAILURE)
    assert found == Found(1, ScriptFailure(1, 1, ScriptError.EVAL_FALSE))


def test_wire_round_trip() -> None:
    jobs = [job(1, OP_TRUE, b"\x51" * 300), job(9, *[OP_TRUE] * 5)]
    for batch in make_batches(jobs, 3):
        flags, units = decode_batch(encode_batch(batch, 0xFFFFFFFF))
        assert flags == 0xFFFFFFFF
        for before, after in zip(batch, list(units), strict=True):
            assert after[1:] == before[1:]
            assert after.job.tx_index == before.job.tx_index
            assert after.job.tx.raw == before.job.tx.raw
            assert list(after.job.spent_outputs) == list(before.job.spent_outputs)


def test_wire_sends_a_cut_transaction_once_a_batch() -> None:
    batch = make_batches([job(1, *[OP_TRUE] * 8)], 4)
    both = [*batch[0], *batch[1]]
    assert len(encode_batch(both, 0)) < len(encode_batch(batch[0], 0)) + 40
    first, second = decode_batch(encode_batch(both, 0))[1]
    assert first.job is second.job


@pytest.mark.parametrize("found", [None, Found(1 << 40, ScriptFailure(7, 3, ScriptError.SIG_DER))])
def test_answer_round_trip(found: Found | None) -> None:
    assert decode_answer(encode_answer(found)) == found


def test_positions_grow() -> None:
    units = [unit for batch in make_batches([job(i, OP_TRUE, OP_TRUE) for i in range(9)], 3) for unit in batch]
    assert all(a.position + a.first < b.position + b.first for a, b in pairwise(units))
