"""Change sets: proposals that leave no trace, and those that are applied."""

import pytest

from clarion.node.mempool.changes import Removed
from clarion.node.mempool.lock_points import NO_LOCK_POINTS
from clarion.node.mempool.options import MempoolLimits, MempoolOptions
from clarion.node.primitives.transaction import Transaction
from helpers.pool import PoolFixture, coin, make_tx, output


def stage(changes, tx: Transaction, fee_sat: int = 1000):  # type: ignore[no-untyped-def]
    return changes.stage_addition(
        tx, fee_sat, time=0, height=0, sequence=0, spends_coinbase=False, sigop_cost=0, lock_points=NO_LOCK_POINTS
    )


def test_a_proposal_that_is_not_applied_leaves_no_trace() -> None:
    fixture = PoolFixture()
    old = fixture.add(make_tx())
    before = (fixture.pool.usage_bytes, fixture.pool.sequence)
    with fixture.pool.change_set() as changes:
        stage(changes, make_tx(output(old.tx)))
        changes.stage_removal(old)
        assert changes.check_limits()
    assert (fixture.pool.usage_bytes, fixture.pool.sequence) == before
    assert fixture.pool.cluster(old) == [old]


def test_replaced_transactions_are_told_by_txid_and_name_their_successor() -> None:
    fixture = PoolFixture()
    shared = coin()
    parent = make_tx(shared)
    children = [make_tx(output(parent))]
    children.append(make_tx(output(children[0])))
    for tx in (parent, *children):
        fixture.add(tx)
    winner = make_tx(shared, outputs=2)
    fixture.add(winner, 50_000, replaces=[*children, parent])
    removed = [each for each in fixture.listener.heard if isinstance(each, Removed)]
    assert [each.entry.txid for each in removed] == sorted(tx.txid for tx in (parent, *children))
    assert {each.replaced_by for each in removed} == {winner.txid}
    assert {each.reason for each in removed} == {"replaced"}
    assert set(fixture.pool.entries) == {winner.txid}


def test_a_package_is_linked_to_the_pool_and_to_itself() -> None:
    fixture = PoolFixture()
    grandparent = fixture.add(make_tx())
    with fixture.pool.change_set() as changes:
        parent = stage(changes, make_tx(output(grandparent.tx)))
        child = stage(changes, make_tx(output(parent.tx)))
        assert changes.ancestors(child) == set()
        assert changes.ancestors(parent) == {grandparent}
        changes.apply()
    assert fixture.pool.ancestors(child) == {grandparent, parent}


def test_a_cluster_beyond_the_limit_is_seen_before_it_exists() -> None:
    fixture = PoolFixture(MempoolOptions(limits=MempoolLimits(cluster_count=2)))
    parent = make_tx(outputs=2)
    fixture.add(parent)
    fixture.add(make_tx(output(parent, 0)))
    with fixture.pool.change_set() as changes:
        stage(changes, make_tx(output(parent, 1)))
        assert not changes.check_limits()
        assert changes.chunks_for_rbf() is None


def test_diagrams_show_what_a_replacement_changes() -> None:
    fixture = PoolFixture()
    old = make_tx(coin())
    fixture.add(old, 100)
    fixture.add(make_tx(), 777)
    with fixture.pool.change_set() as changes:
        changes.stage_removal(fixture.pool.entries[old.txid])
        stage(changes, make_tx(old.inputs[0].prevout, outputs=2), 300)
        diagrams = changes.chunks_for_rbf()
    assert diagrams is not None
    assert [[chunk.fee for chunk in side] for side in diagrams] == [[100], [300]]


def test_only_one_proposal_at_a_time() -> None:
    pool = PoolFixture().pool
    with pool.change_set(), pytest.raises(AssertionError), pool.change_set():
        pass
    assert not pool.change_set_open
