"""The orphanage does what a plain list of announcements does, whatever happens to it."""

import random
from dataclasses import dataclass
from fractions import Fraction

import pytest

from clarion.node.mempool.orphanage import TxOrphanage
from clarion.node.primitives.ids import OutPoint, make_outpoint
from clarion.node.primitives.transaction import Transaction
from helpers.simple_txs import coin_of, simple_tx

MAX_SCORE = 40
RESERVED = 5000


@dataclass
class Announcement:
    """One peer's word about one orphan."""

    tx: Transaction
    peer: int
    number: int
    work: bool = False

    @property
    def score(self) -> int:
        """Its part of its peer's latency score."""
        return 1 + len(self.tx.inputs) // 10


class Model:
    """Looks at everything for every answer, and evicts one announcement at a time."""

    def __init__(self) -> None:
        self.all: list[Announcement] = []
        self.number = 0

    def of(self, peer: int) -> list[Announcement]:
        """Return a peer's announcements in the order of eviction."""
        return sorted([each for each in self.all if each.peer == peer], key=lambda each: (each.work, each.number))

    def excess(self, peer: int, share: int) -> tuple[Fraction, int, int]:
        """Return how bad a peer is."""
        mine = self.of(peer)
        scores = (Fraction(sum(each.score for each in mine), share), -share)
        weights = (Fraction(sum(each.tx.weight for each in mine), RESERVED), -RESERVED)
        return (*max(scores, weights), peer)

    def limit(self) -> None:
        """Evict what is too much."""
        share = MAX_SCORE // max(1, len({each.peer for each in self.all}))
        while True:
            unique = {each.tx.wtxid: each.tx for each in self.all}.values()
            score = len(self.all) + sum(len(tx.inputs) // 10 for tx in unique)
            peers = {each.peer for each in self.all}
            if score <= MAX_SCORE and sum(tx.weight for tx in unique) <= RESERVED * max(1, len(peers)):
                return
            worst = max(peers, key=lambda peer: self.excess(peer, share))
            self.all.remove(self.of(worst)[0])

    def add(self, tx: Transaction, peer: int) -> None:
        """Note an announcement."""
        if not any(each.tx.wtxid == tx.wtxid and each.peer == peer for each in self.all):
            self.all.append(Announcement(tx, peer, self.number))
            self.number += 1
            self.limit()

    def erase(self, tx: Transaction) -> None:
        """Forget an orphan."""
        self.all = [each for each in self.all if each.tx.wtxid != tx.wtxid]
        self.limit()

    def erase_peer(self, peer: int) -> None:
        """Forget a peer."""
        self.all = [each for each in self.all if each.peer != peer]
        self.limit()

    def mark(self, parent: Transaction) -> None:
        """Give the work to the announcer with the lowest number."""
        spent = {make_outpoint(parent.txid, index) for index in range(len(parent.outputs))}
        for wtxid in {each.tx.wtxid for each in self.all if spent & prevouts(each.tx)}:
            announcements = [each for each in self.all if each.tx.wtxid == wtxid]
            if not any(each.work for each in announcements):
                min(announcements, key=lambda each: each.peer).work = True

    def take(self, peer: int) -> Transaction | None:
        """Take the oldest work."""
        for each in self.of(peer):
            if each.work:
                each.work = False
                return each.tx
        return None


def prevouts(tx: Transaction) -> set[OutPoint]:
    """Return what it spends."""
    return {txin.prevout for txin in tx.inputs}


def assert_equal(orphanage: TxOrphanage, model: Model, parent: Transaction) -> None:
    """Compare everything that can be seen."""
    announced = [(info.tx.wtxid, peer) for info in orphanage.orphans() for peer in info.announcers]
    assert announced == sorted((each.tx.wtxid, each.peer) for each in model.all)
    assert orphanage.announcement_count == len(model.all)
    assert set(orphanage._spenders) == {prevout for each in model.all for prevout in prevouts(each.tx)}
    for peer in range(6):
        mine = model.of(peer)
        assert orphanage.announcements_from(peer) == len(mine)
        assert orphanage.usage_of(peer) == sum(each.tx.weight for each in mine)
        assert orphanage.latency_score_of(peer) == sum(each.score for each in mine)
        assert orphanage.have_work(peer) == any(each.work for each in mine)
        children = [each.tx for each in reversed(mine) if any(p[:32] == parent.txid for p in prevouts(each.tx))]
        assert orphanage.children_from_same_peer(parent.txid, peer) == children


@pytest.mark.parametrize("seed", range(6))
def test_against_a_plain_list(seed: int) -> None:
    source = random.Random(seed)
    parents = [simple_tx([coin_of(number)], [1, 2]) for number in range(4)]
    spendable = [make_outpoint(parent.txid, index) for parent in parents for index in (0, 1)]
    spendable += [coin_of(number) for number in range(100, 140)]
    made = [simple_tx(source.sample(spendable, source.choice([1, 1, 2, 12, 25]))) for _ in range(40)]
    txs = list({tx.wtxid: tx for tx in made}.values())
    orphanage, model = TxOrphanage(MAX_SCORE, RESERVED), Model()
    for _ in range(400):
        tx, peer, parent = source.choice(txs), source.randrange(6), source.choice(parents)
        action = source.random()
        if action < 0.7:
            orphanage.add(tx, peer)
            model.add(tx, peer)
        elif action < 0.8:
            orphanage.add_children_to_work_set(parent, lambda count: 0)
            model.mark(parent)
        elif action < 0.9:
            assert orphanage.take_work(peer) is model.take(peer)
        elif action < 0.97:
            orphanage.erase(tx.wtxid)
            model.erase(tx)
        else:
            orphanage.erase_for_peer(peer)
            model.erase_peer(peer)
        assert_equal(orphanage, model, parent)
