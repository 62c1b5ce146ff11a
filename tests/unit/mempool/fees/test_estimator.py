"""The estimator: what it learns from, and what it answers."""

import random

import pytest

from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.fees.estimator import FeeEstimator, Horizon
from clarion.node.primitives.ids import Txid
from helpers.fee_history import FEE_STEP_SAT, VSIZE, FeeHistory, usual_history

STEP = FeeRate(FEE_STEP_SAT, VSIZE).sat_per_kvb
TX = Txid(bytes(32))
TOLERANCE = 100


def rate(estimator: FeeEstimator, target: int) -> int:
    """Return the estimate for a target in satoshis per kvB."""
    return estimator.estimate_raw_fee(target, 0.95, Horizon.MEDIUM)[0].sat_per_kvb


def test_few_transactions_are_taken_together() -> None:
    history = FeeHistory(FeeEstimator())
    for number in range(3):
        history.arrive()
        history.mine(number % 10 + 1)
    # Three kinds are needed for enough data; all of the best, most of the others were mined at once.
    assert abs(rate(history.estimator, 2) - 9 * STEP) < TOLERANCE


def test_higher_targets_cost_less() -> None:
    estimator = usual_history().estimator
    rates = [rate(estimator, target) for target in range(2, 10)]
    assert rates == sorted(rates, reverse=True)
    # Two blocks are enough for the second best kind, and so on; odd targets fall between periods.
    for target in range(2, 10, 2):
        assert abs(rate(estimator, target) - (11 - target) * STEP) < TOLERANCE


def test_blocks_without_transactions_change_little() -> None:
    history = usual_history()
    before = [rate(history.estimator, target) for target in range(2, 10)]
    for _ in range(50):
        history.mine(0)
    after = [rate(history.estimator, target) for target in range(2, 10)]
    assert all(abs(new - old) < TOLERANCE for new, old in zip(after, before, strict=True))


def test_waiting_transactions_raise_estimates_and_full_blocks_lower_them() -> None:
    history = usual_history()
    before = {target: rate(history.estimator, target) for target in range(2, 9)}
    for _ in range(15):
        history.arrive()
        history.mine(0)
    stuck = {target: rate(history.estimator, target) for target in before}
    assert all(not stuck[target] or stuck[target] > before[target] - TOLERANCE for target in before)
    for _ in range(400):
        history.arrive()
        history.mine(10)
    assert all(rate(history.estimator, target) < before[target] - TOLERANCE for target in before)


def test_smart_estimates() -> None:
    estimator = usual_history().estimator
    assert estimator.estimate_smart_fee(0, conservative=False) == (FeeRate(0), 0)
    assert estimator.estimate_smart_fee(1009, conservative=False) == (FeeRate(0), 1009)
    # The next block can't be foreseen, and 200 blocks tell about 99.
    assert estimator.estimate_smart_fee(1, conservative=False).blocks == 2
    assert estimator.estimate_smart_fee(1008, conservative=True).blocks == 99
    for target in range(2, 60):
        careful = estimator.estimate_smart_fee(target, conservative=True).feerate
        assert careful >= estimator.estimate_smart_fee(target, conservative=False).feerate > FeeRate(0)


def test_without_data_there_is_no_answer() -> None:
    estimator = FeeEstimator()
    assert estimator.estimate_smart_fee(6, conservative=True) == (FeeRate(0), 0)
    feerate, result = estimator.estimate_raw_fee(6, 0.95, Horizon.SHORT)
    assert feerate == FeeRate(0)
    assert result is not None
    assert (result.passed.start, result.failed.start, result.failed.end) == (-1, 0, 1e99)


@pytest.mark.parametrize(("target", "threshold"), [(0, 0.5), (13, 0.5), (6, 1.01)])
def test_raw_estimates_have_limits(target: int, threshold: float) -> None:
    assert FeeEstimator().estimate_raw_fee(target, threshold, Horizon.SHORT) == (FeeRate(0), None)


def test_highest_targets() -> None:
    assert [FeeEstimator().highest_target(horizon) for horizon in Horizon] == [12, 48, 1008]


def test_only_news_at_the_tip_count() -> None:
    estimator = FeeEstimator()
    estimator.process_block(5, [])
    estimator.process_transaction(TX, 1000, 100, 4, valid=True)
    assert not estimator.remove_transaction(TX)
    estimator.process_transaction(TX, 1000, 100, 5, valid=False)
    assert not estimator.remove_transaction(TX)
    estimator.process_transaction(TX, 1000, 100, 5, valid=True)
    estimator.process_transaction(TX, 1000, 100, 5, valid=True)
    assert estimator.remove_transaction(TX)
    assert not estimator.remove_transaction(TX)


def test_a_block_that_replaces_another_is_not_counted() -> None:
    estimator = FeeEstimator()
    estimator.process_block(5, [])
    estimator.process_transaction(TX, 1000, 100, 5, valid=True)
    estimator.process_block(5, [TX])
    assert estimator.remove_transaction(TX)


def test_flushing_counts_the_waiting_ones_as_failed() -> None:
    history = usual_history()
    for _ in range(4):
        history.arrive()
        history.mine(0)
    history.estimator.flush_unconfirmed()
    _, result = history.estimator.estimate_raw_fee(2, 0.95, Horizon.SHORT)
    assert result is not None
    assert result.failed.in_mempool == 0
    assert result.failed.left_mempool > 8


def test_leaving_transactions_are_failures_only_after_their_target() -> None:
    history = usual_history()
    history.arrive()
    history.leave(random.Random(1), 1.0)
    _, result = history.estimator.estimate_raw_fee(1, 0.0, Horizon.SHORT)
    assert result is not None
    before = result.passed.left_mempool
    history.arrive()
    history.mine(0)
    history.leave(random.Random(1), 1.0)
    _, result = history.estimator.estimate_raw_fee(1, 0.0, Horizon.SHORT)
    assert result is not None
    assert result.passed.left_mempool > before
