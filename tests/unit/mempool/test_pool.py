"""The pool: what each addition and removal does to its indexes, its sums and its numbers."""

import tracemalloc
from dataclasses import replace

import pytest

from clarion.node.mempool.changes import RemovalReason
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.options import MempoolOptions
from clarion.node.primitives.transaction import Transaction
from helpers.pool import START, PoolFixture, make_tx, output


@pytest.fixture
def fixture() -> PoolFixture:
    return PoolFixture()


def test_an_entry_is_found_by_every_key(fixture: PoolFixture) -> None:
    tx = make_tx()
    entry = fixture.add(tx, 500)
    pool = fixture.pool
    assert pool.get(tx.txid) is pool.get_by_wtxid(tx.wtxid) is entry
    assert pool.spender(tx.inputs[0].prevout) is entry
    assert (pool.total_vsize, pool.total_fee_sat, len(pool)) == (tx.vsize, 500, 1)


def test_nothing_remains_of_a_removed_entry(fixture: PoolFixture) -> None:
    tx = make_tx()
    empty = fixture.pool.usage_bytes
    fixture.add(tx)
    fixture.pool.add_unbroadcast(tx.txid)
    fixture.pool.remove_recursive(tx, RemovalReason.EXPIRY)
    pool = fixture.pool
    assert not pool.entries
    assert not pool.next_tx
    assert not pool.unbroadcast
    assert pool.get_by_wtxid(tx.wtxid) is None
    # The reference's list of transactions keeps its room.
    assert (pool.total_vsize, pool.total_fee_sat, pool.usage_bytes - empty) == (0, 0, 64)


def test_every_change_takes_a_number_and_blocks_do_too(fixture: PoolFixture) -> None:
    first, second = make_tx(), make_tx()
    fixture.add(first)
    fixture.add(second)
    mined = [fixture.pool.entries[first.txid]]
    fixture.pool.tell_confirmed(mined)
    fixture.pool.remove_confirmed(mined, 101)
    fixture.pool.remove_recursive(second, RemovalReason.REORG)
    assert [each.sequence for each in fixture.listener.heard] == [1, 2, 3, 4]
    assert fixture.pool.sequence == 5


def test_relatives_are_found_through_inputs_and_outputs(fixture: PoolFixture) -> None:
    parent = make_tx(outputs=2)
    left, right = make_tx(output(parent, 0)), make_tx(output(parent, 1))
    grandchild = make_tx(output(left), output(right))
    entries = [fixture.add(tx) for tx in (parent, left, right, grandchild)]
    pool = fixture.pool
    assert pool.children(entries[0]) == pool.parents(entries[3]) == sorted(entries[1:3], key=lambda each: each.txid)
    assert pool.ancestors(entries[3]) == set(entries[:3])
    assert set(pool.descendants(entries[1])) == {entries[1], entries[3]}
    assert pool.gather_clusters([left.txid, right.txid, bytes(32)]) == pool.cluster(entries[0])
    assert not pool.has_no_inputs_of(left)


def test_descendants_go_with_a_transaction_that_is_not_here(fixture: PoolFixture) -> None:
    parent = make_tx(outputs=2)
    child, other = make_tx(output(parent, 1)), make_tx()
    grandchild = make_tx(output(child))
    for tx in (child, grandchild, other):
        fixture.add(tx)
    fixture.pool.remove_recursive(parent, RemovalReason.REORG)
    assert set(fixture.pool.entries) == {other.txid}
    assert {tx.txid for tx, _ in fixture.listener.removed()} == {child.txid, grandchild.txid}


def test_deltas_add_up_and_wait_for_their_transaction(fixture: PoolFixture) -> None:
    tx = make_tx()
    fixture.pool.prioritise(tx.txid, 700)
    entry = fixture.add(tx, 1000)
    assert (entry.base_fee_sat, entry.modified_fee_sat) == (1000, 1700)
    fixture.pool.prioritise(tx.txid, -500)
    assert (entry.modified_fee_sat, fixture.pool.total_fee_sat) == (1200, 1000)
    fixture.pool.prioritise(tx.txid, -200)
    assert fixture.pool.deltas == {}
    assert entry.modified_fee_sat == 1000


def test_what_is_too_old_expires_with_its_descendants(fixture: PoolFixture) -> None:
    old, fresh = make_tx(), make_tx()
    child = make_tx(output(old))
    fixture.add(old, age_s=100)
    fixture.add(child)
    fixture.add(fresh)
    assert fixture.pool.expire(START - 100) == 0
    assert fixture.pool.expire(START - 99) == 2
    assert [tx.txid for tx, _ in fixture.listener.removed()] == sorted([old.txid, child.txid])
    assert fixture.pool.expire(START) == 0
    assert fixture.pool.expire(START + 1) == 1


def test_the_worst_chunks_make_room_and_raise_the_minimum_fee() -> None:
    fixture = PoolFixture(replace(MempoolOptions(), incremental_relay_feerate=FeeRate(1000)))
    txs = [make_tx(padding=100) for _ in range(4)]
    for number, tx in enumerate(txs):
        fixture.add(tx, 1000 * (number + 1))
    pool = fixture.pool
    pool.trim_to_size(pool.usage_bytes - 1)
    assert [(tx, reason) for tx, reason in fixture.listener.removed()] == [(txs[0], "sizelimit")]
    expected = FeeRate(1000, txs[0].vsize).sat_per_kvb + 1000
    assert pool.min_fee() == FeeRate(expected)


def test_a_child_that_pays_for_its_parent_keeps_both(fixture: PoolFixture) -> None:
    poor, rich = make_tx(), make_tx()
    child = make_tx(output(poor))
    fixture.add(poor, 0)
    fixture.add(rich, 1000)
    fixture.add(child, 10_000)
    fixture.pool.trim_to_size(fixture.pool.usage_bytes - 1)
    assert set(fixture.pool.entries) == {poor.txid, child.txid}


def test_entries_sort_and_sum_as_they_would_be_mined(fixture: PoolFixture) -> None:
    low, high = make_tx(), make_tx()
    fixture.add(low, 100)
    fixture.add(high, 200)
    assert [entry.tx for entry in fixture.pool.sorted_entries()] == [high, low]
    points = [(point.fee, point.size) for point in fixture.pool.feerate_diagram()]
    assert points == [(0, 0), (200, high.weight), (300, high.weight + low.weight)]


def test_an_entry_takes_little_memory_beside_its_transaction() -> None:
    fixture = PoolFixture()
    fixture.pool.observers.clear()
    txs = [Transaction.parse(make_tx(outputs=2).raw) for _ in range(1000)]
    tracemalloc.start()
    try:
        for number, tx in enumerate(txs):
            fixture.add(tx, 1000 + number, age_s=number)
        fixture.pool.limit_size()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(fixture.pool) == len(txs)
    assert taken / len(txs) < 1000
