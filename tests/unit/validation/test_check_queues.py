"""One suite for the three check queues: what fails, which failure is told, and that all agree."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from clarion.node.consensus.connect import ScriptJob
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.errors import ScriptError
from clarion.node.script.flags import SCRIPT_VERIFY_P2SH, STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.validation import inline_queue
from clarion.node.validation.batches import NO_FAILURE, make_batches
from clarion.node.validation.check_queue import CheckQueue, ScriptFailure, make_check_queue
from clarion.node.validation.inline_queue import Found, check_units, cut_units
from clarion.node.validation.wire import decode_answer, decode_batch, encode_answer, encode_batch
from helpers.spends import Spend, p2wpkh

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


def test_blocks_that_follow_each_other_are_judged_alone(queue: CheckQueue) -> None:
    blocks = [[job(i, OP_TRUE, OP_TRUE) for i in range(1, 60)] for _ in range(6)]
    blocks[1][40] = job(41, OP_TRUE, OP_FALSE)
    blocks[3][2] = job(3, OP_RETURN, OP_TRUE)
    blocks[3][50] = job(51, OP_FALSE, OP_TRUE)
    futures = [queue.submit(jobs, FLAGS) for jobs in blocks]
    found = [future.result(60) for future in futures]
    assert found[1] == ScriptFailure(41, 1, ScriptError.EVAL_FALSE)
    assert found[3] == ScriptFailure(3, 0, ScriptError.OP_RETURN)
    assert [found[at] for at in (0, 2, 4, 5)] == [None] * 4


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
    assert check_units(cut_units(units), FLAGS, lambda: 0) is None
    found = check_units(cut_units(units), FLAGS, lambda: NO_FAILURE)
    assert found == Found(1, ScriptFailure(1, 1, ScriptError.EVAL_FALSE))


def test_a_surprise_in_the_short_cut_asks_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise IndexError

    monkeypatch.setattr(inline_queue, "prepare_check", broken)
    units = make_batches([job(1, OP_TRUE, OP_TRUE), job(2, OP_RETURN)], 10)[0]
    found = check_units(cut_units(units), FLAGS, lambda: NO_FAILURE)
    assert found == Found(2, ScriptFailure(2, 0, ScriptError.OP_RETURN))


def test_a_signature_that_fails_is_told_in_block_order(queue: CheckQueue) -> None:
    spends = [p2wpkh(), p2wpkh().with_changes(version=1), p2wpkh(), p2wpkh().with_changes(version=3)]
    jobs = [ScriptJob(spend.tx, _coins(spend), at) for at, spend in enumerate(spends, 1)]
    assert queue.check(jobs, STANDARD_SCRIPT_VERIFY_FLAGS) == ScriptFailure(2, 0, ScriptError.NULLFAIL)
    assert queue.check(jobs[::2], STANDARD_SCRIPT_VERIFY_FLAGS) is None


def _coins(spend: Spend) -> list[Coin]:
    return [Coin(output.value, output.script_pubkey, 0) for output in spend.spent]


def test_wire_round_trip() -> None:
    jobs = [job(1, OP_TRUE, b"\x51" * 252, b"\x51" * 253), job(9, *[OP_TRUE] * 5), job(10, b"\x51" * 70_000)]
    for batch in make_batches(jobs, 3):
        flags, units = decode_batch(encode_batch(batch, 0xFFFFFFFF))
        assert flags == 0xFFFFFFFF
        for before, after in zip(batch, list(units), strict=True):
            assert (after.first, after.end, after.position) == (before.first, before.end, before.position)
            assert (after.tx.raw, after.tx_index) == (before.job.tx.raw, before.job.tx_index)
            assert after.tx.scripts == [coin.script_pubkey for coin in before.job.spent_outputs]
            assert after.tx.amounts == [(1).to_bytes(8, "little")] * len(before.job.spent_outputs)


@pytest.mark.parametrize("found", [None, Found(1 << 40, ScriptFailure(7, 3, ScriptError.SIG_DER))])
def test_answer_round_trip(found: Found | None) -> None:
    assert decode_answer(encode_answer(found)) == found


def test_positions_grow() -> None:
    units = [unit for batch in make_batches([job(i, OP_TRUE, OP_TRUE) for i in range(9)], 3) for unit in batch]
    assert all(a.position + a.first < b.position + b.first for a, b in pairwise(units))
