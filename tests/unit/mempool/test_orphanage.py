"""The orphanage: announcers, limits, eviction, work."""

import pytest

from clarion.node.mempool.orphanage import TxOrphanage
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxOut
from helpers.headers import header_on
from helpers.simple_txs import coin_of, output_of, simple_tx

WEIGHT = simple_tx([coin_of(0)]).weight


def plain(number: int, inputs: int = 1) -> Transaction:
    """Return an orphan that spends coins that no other one spends."""
    return simple_tx([make_outpoint(number.to_bytes(32, "big"), index) for index in range(inputs)])


def first(count: int) -> int:
    """Stand for chance: always the first."""
    return 0


def test_one_orphan_with_several_announcers() -> None:
    orphanage, tx = TxOrphanage(), plain(1)
    assert orphanage.add(tx, 0)
    assert not orphanage.add(tx, 0)
    assert not orphanage.add(tx, 1)
    assert orphanage.add_announcer(tx.wtxid, 2)
    assert not orphanage.add_announcer(tx.wtxid, 2)
    assert not orphanage.add_announcer(plain(2).wtxid, 2)
    assert (len(orphanage), orphanage.announcement_count, orphanage.total_usage) == (1, 3, WEIGHT)
    assert orphanage.orphans() == [(tx, [0, 1, 2])]
    for peer in (0, 1):
        orphanage.erase_for_peer(peer)
        assert orphanage.get(tx.wtxid) is tx
        assert not orphanage.have_from(tx.wtxid, peer)
    orphanage.erase_for_peer(2)
    assert not orphanage.have(tx.wtxid)
    assert (len(orphanage), orphanage.total_usage, orphanage.total_latency_score) == (0, 0, 0)


def test_another_witness_is_another_orphan() -> None:
    parent = plain(1)
    tx = simple_tx([output_of(parent)])
    twin = simple_tx([output_of(parent)], witness=(b"\x05",))
    orphanage = TxOrphanage()
    assert orphanage.add(tx, 0)
    assert not orphanage.erase(twin.wtxid)
    assert orphanage.add(twin, 0)
    assert orphanage.children_from_same_peer(parent.txid, 0) == [twin, tx]
    assert orphanage.erase(twin.wtxid)
    assert orphanage.have(tx.wtxid)
    assert orphanage.get(twin.wtxid) is None


def test_orphans_above_the_standard_weight_are_not_kept() -> None:
    base = simple_tx([coin_of(1)], [TxOut(0, bytes(70_000))])
    exact = simple_tx([coin_of(1)], [TxOut(0, bytes(70_000 + (400_000 - base.weight) // 4))])
    assert exact.weight == 400_000
    assert TxOrphanage().add(exact, 0)
    assert not TxOrphanage().add(simple_tx([coin_of(1)], [TxOut(0, bytes(100_000))]), 0)


def test_limits_depend_on_the_number_of_peers() -> None:
    orphanage = TxOrphanage()
    assert (orphanage.max_peer_latency_score, orphanage.max_usage) == (3000, 404_000)
    for peer in range(3):
        orphanage.add(plain(peer), peer)
        assert orphanage.max_peer_latency_score == 3000 // (peer + 1)
        assert orphanage.max_usage == 404_000 * (peer + 1)
    # A peer without orphans does not count.
    orphanage.erase_for_peer(2)
    orphanage.erase(plain(0).wtxid)
    assert (orphanage.max_peer_latency_score, orphanage.max_usage) == (3000, 404_000)


def test_inputs_count_towards_the_latency_score() -> None:
    orphanage = TxOrphanage()
    for number in range(10):
        orphanage.add(plain(number, 9), 0)
    assert orphanage.total_latency_score == 10
    for number in range(10, 20):
        orphanage.add(plain(number, 50), 0)
        if number < 15:
            orphanage.add_announcer(plain(number, 50).wtxid, 1)
    # The inputs of an orphan count once, but to each of its announcers.
    assert (orphanage.announcement_count, orphanage.total_latency_score) == (25, 25 + 50)
    assert (orphanage.announcements_from(0), orphanage.latency_score_of(0)) == (20, 20 + 50)
    assert (orphanage.announcements_from(1), orphanage.latency_score_of(1)) == (5, 5 + 25)
    assert (orphanage.usage_of(2), orphanage.latency_score_of(2), orphanage.announcements_from(2)) == (0, 0, 0)


@pytest.mark.parametrize(("score", "weight"), [(1, 10 * WEIGHT), (10, WEIGHT)])
def test_either_limit_evicts_the_oldest(score: int, weight: int) -> None:
    orphanage = TxOrphanage(score, weight)
    orphanage.add(plain(1), 8)
    orphanage.add(plain(2), 8)
    assert [orphanage.have(plain(number).wtxid) for number in (1, 2)] == [False, True]


def test_many_inputs_evict_too() -> None:
    orphanage = TxOrphanage(5, 1000 * WEIGHT)
    orphanage.add(plain(1), 8)
    orphanage.add(plain(2, 45), 8)
    assert [orphanage.have(tx.wtxid) for tx in (plain(1), plain(2, 45))] == [False, True]


def test_orphans_with_work_are_evicted_last_and_oldest_first() -> None:
    parents = [plain(number) for number in range(7)]
    children = [simple_tx([output_of(parent)]) for parent in parents]
    orphanage = TxOrphanage(3, 10 * WEIGHT)
    for child in children[:3]:
        orphanage.add(child, 9)
    assert orphanage.add_children_to_work_set(parents[0], first) == [(children[0].wtxid, 9)]
    orphanage.add(children[3], 9)
    orphanage.add(children[4], 9)
    assert [orphanage.have(child.wtxid) for child in children[:5]] == [True, False, False, True, True]
    orphanage.add_children_to_work_set(parents[4], first)
    orphanage.add_children_to_work_set(parents[3], first)
    # The only one without work goes at once.
    assert orphanage.add(children[5], 9)
    assert not orphanage.have(children[5].wtxid)
    # Once looked at, an orphan is as old as it was.
    assert orphanage.take_work(9) is children[0]
    orphanage.add(children[6], 9)
    assert not orphanage.have(children[0].wtxid)
    assert [orphanage.take_work(9), orphanage.take_work(9), orphanage.take_work(9)] == [children[3], children[4], None]


def test_the_peer_that_exceeds_its_share_most_pays() -> None:
    orphanage = TxOrphanage(60, 1000 * WEIGHT)
    txs = [plain(number) for number in range(100)]
    for tx in txs[:60]:
        orphanage.add(tx, 0)
    for number in range(10):
        orphanage.add(txs[60 + number], 1)
        assert orphanage.announcements_from(0) == 60 - number - 1
        assert not orphanage.have(txs[number].wtxid)
    # Announcements of what another peer announced count as well.
    for number in range(10, 20):
        orphanage.add(txs[number], 2)
        assert orphanage.have(txs[number].wtxid)
        assert not orphanage.have_from(txs[number].wtxid, 0)
    for peer in range(3, 6):
        for number in range(10):
            orphanage.add(txs[peer * 10 + number + 40], peer)
    assert [orphanage.announcements_from(peer) for peer in range(6)] == [10] * 6


def test_one_large_orphan_can_push_out_all_others_of_its_peer() -> None:
    large = simple_tx([coin_of(99)], [TxOut(0, bytes(10 * WEIGHT // 4))])
    orphanage = TxOrphanage(20, large.weight)
    for number in range(20):
        orphanage.add(plain(number), number // 10)
    orphanage.add(large, 1)
    assert [orphanage.announcements_from(peer) for peer in (0, 1)] == [10, 1]
    assert orphanage.have_from(large.wtxid, 1)


def test_work_goes_to_one_announcer_by_chance() -> None:
    parent = simple_tx([coin_of(1)], [1000, 2000])
    child, both = simple_tx([output_of(parent)]), simple_tx([output_of(parent), output_of(parent, 1)])
    orphanage = TxOrphanage()
    for peer in (5, 3, 4):
        orphanage.add(child, peer)
    orphanage.add(both, 7)
    marked = orphanage.add_children_to_work_set(parent, lambda count: count - 1)
    assert sorted(marked) == sorted([(child.wtxid, 5), (both.wtxid, 7)])
    # There is work already, so nobody else gets it.
    assert orphanage.add_children_to_work_set(parent, first) == []
    assert [orphanage.have_work(peer) for peer in (3, 4, 5, 6, 7)] == [False, False, True, False, True]
    assert orphanage.take_work(3) is None
    # The worker leaves; another announcer can be given the work.
    orphanage.erase_for_peer(5)
    assert orphanage.add_children_to_work_set(parent, first) == [(child.wtxid, 3)]


def test_children_of_one_peer_newest_first() -> None:
    parent, other = simple_tx([coin_of(1)], [1000, 2000]), plain(2)
    single = simple_tx([output_of(parent)])
    double = simple_tx([output_of(parent), output_of(parent, 1)])
    mixed = simple_tx([output_of(parent), output_of(other)])
    foreign = simple_tx([output_of(other)])
    orphanage = TxOrphanage()
    for tx in (single, foreign, double, mixed):
        orphanage.add(tx, 1)
    assert not orphanage.add(single, 3)
    assert orphanage.children_from_same_peer(parent.txid, 1) == [mixed, double, single]
    assert orphanage.children_from_same_peer(other.txid, 1) == [mixed, foreign]
    assert orphanage.children_from_same_peer(parent.txid, 3) == [single]
    assert orphanage.children_from_same_peer(parent.txid, 2) == []


def test_children_with_work_come_before_newer_ones() -> None:
    parent, other = simple_tx([coin_of(1)]), plain(2)
    oldest = simple_tx([output_of(parent), output_of(other)])
    newer = [simple_tx([output_of(parent)], [value]) for value in (1, 2)]
    orphanage = TxOrphanage()
    for tx in (oldest, *newer):
        orphanage.add(tx, 1)
    assert orphanage.children_from_same_peer(parent.txid, 1) == [newer[1], newer[0], oldest]
    orphanage.add_children_to_work_set(other, first)
    assert orphanage.children_from_same_peer(parent.txid, 1) == [oldest, newer[1], newer[0]]


def block_of(*txs: Transaction) -> Block:
    """Return a block that nobody checks."""
    return Block(header_on(bytes(32), 1), list(txs))


def test_a_block_removes_what_it_holds_and_what_conflicts() -> None:
    orphanage = TxOrphanage()
    confirmed, kept = plain(1), plain(9)
    twin = simple_tx([coin_of(2)], witness=(b"\x01",))
    rival = simple_tx([coin_of(3)], [1])
    overlapping = simple_tx([coin_of(4), coin_of(5)])
    for tx in (confirmed, kept, twin, rival, overlapping):
        orphanage.add(tx, 0)
    orphanage.add_announcer(rival.wtxid, 1)
    orphanage.erase_for_block(
        block_of(confirmed, simple_tx([coin_of(2)]), simple_tx([coin_of(3)], [2]), simple_tx([coin_of(5), coin_of(6)]))
    )
    assert [info.tx for info in orphanage.orphans()] == [kept]
    assert orphanage.announcements_from(1) == 0
