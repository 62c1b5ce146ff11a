"""Which changes of the pool the fee estimator hears of."""

import pytest

from clarion.node.mempool.changes import RemovalReason
from clarion.node.mempool.fees.estimator import FeeEstimator
from clarion.node.mempool.fees.observer import FeeObserver
from helpers.pool import PoolFixture, make_tx, output


@pytest.fixture
def fixture() -> PoolFixture:
    """Return a pool whose entries come at height 100, where the estimator is too."""
    return PoolFixture()


@pytest.fixture
def estimator(fixture: PoolFixture) -> FeeEstimator:
    estimator = FeeEstimator()
    estimator.process_block(100, [])
    fixture.pool.observers = [FeeObserver(estimator)]
    return estimator


def test_a_transaction_that_came_alone_is_followed(fixture: PoolFixture, estimator: FeeEstimator) -> None:
    entry = fixture.add(make_tx())
    # The fixture tells of a chain that is behind: nothing to learn.
    assert not estimator.remove_transaction(entry.txid)
    fixture.pool.tell_added(entry, [], chain_current=True)
    assert estimator.remove_transaction(entry.txid)


@pytest.mark.parametrize("how", ["limits_bypassed", "in_package"])
def test_others_are_not(fixture: PoolFixture, estimator: FeeEstimator, how: str) -> None:
    entry = fixture.add(make_tx())
    fixture.pool.tell_added(entry, [], chain_current=True, **{how: True})
    assert not estimator.remove_transaction(entry.txid)


def test_neither_are_children_of_the_pool(fixture: PoolFixture, estimator: FeeEstimator) -> None:
    parent = fixture.add(make_tx())
    child = fixture.add(make_tx(output(parent.tx)))
    fixture.pool.tell_added(child, [], chain_current=True)
    assert not estimator.remove_transaction(child.txid)


def test_removal_for_a_block_is_no_failure(fixture: PoolFixture, estimator: FeeEstimator) -> None:
    left, mined = fixture.add(make_tx()), fixture.add(make_tx())
    for entry in (left, mined):
        fixture.pool.tell_added(entry, [], chain_current=True)
    fixture.pool.tell_confirmed([mined])
    fixture.pool.remove_unchecked(left, RemovalReason.CONFLICT)
    assert not estimator.remove_transaction(left.txid)
    fixture.pool.remove_confirmed([mined], 101)
    assert not estimator.remove_transaction(mined.txid)
    # The block was heard of, so the next height is the next one.
    estimator.process_transaction(mined.txid, 1000, 100, 101, valid=True)
    assert estimator.remove_transaction(mined.txid)
