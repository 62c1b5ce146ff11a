"""The orphanage: transactions whose parents are unknown, kept for a while in case they turn up.

Owns: who announced which orphan, the limits on all of it, and what is evicted. Never: asking for parents, judging a
transaction. Not safe from several threads at once.

An orphan can't be told from nonsense, so what is kept is bounded, for each peer and in all: by weight, and by a latency
score that stands for the work to remove things (one for each announcement and one for every ten inputs). A peer may use
more than its share while others use less; if the whole is too much, the peers that exceed their share most lose their
oldest announcements. No peer can push out what another one announced.
"""

import heapq
import logging
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from clarion.node.mempool.policy.constants import MAX_STANDARD_TX_WEIGHT
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import OutPoint, Txid, Wtxid, hash_to_hex, make_outpoint, outpoint_txid
from clarion.node.primitives.transaction import Transaction

RESERVED_WEIGHT_PER_PEER = 404_000
MAX_LATENCY_SCORE = 3000

logger = logging.getLogger("clarion.txpackages")

PeerId = int


class OrphanInfo(NamedTuple):
    """An orphan and the peers that announced it."""

    tx: Transaction
    announcers: list[PeerId]


@dataclass(slots=True)
class _Orphan:
    tx: Transaction
    announced: dict[PeerId, int] = field(default_factory=dict)
    """Each announcer with the number of its announcement; numbers rise over all peers."""
    worker: PeerId | None = None
    """The one peer in whose turn the orphan is to be looked at again."""

    @property
    def input_score(self) -> int:
        return len(self.tx.inputs) // 10


@dataclass(slots=True)
class _Peer:
    """What one peer announced: both lists are sorted by the announcement's number."""

    usage: int = 0
    latency_score: int = 0
    waiting: list[tuple[int, Wtxid]] = field(default_factory=list)
    work: list[tuple[int, Wtxid]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.waiting) + len(self.work)


class _Excess(NamedTuple):
    """How much a peer uses of its share, in the order of badness; of two equal ratios the smaller share is worse."""

    ratio: Fraction
    negative_share: int


class TxOrphanage:
    """Orphans by wtxid, with everyone who announced them."""

    def __init__(
        self, max_latency_score: int = MAX_LATENCY_SCORE, reserved_weight: int = RESERVED_WEIGHT_PER_PEER
    ) -> None:
        """`max_latency_score` is shared by all peers, `reserved_weight` is each one's."""
        self.max_latency_score = max_latency_score
        self.reserved_weight = reserved_weight
        self.announcement_count = 0
        self.total_usage = 0
        """Weight of all orphans, each counted once."""
        self._orphans: dict[Wtxid, _Orphan] = {}
        self._peers: dict[PeerId, _Peer] = {}
        self._spenders: dict[OutPoint, set[Wtxid]] = {}
        self._input_score = 0
        self._next_number = 0

    def __len__(self) -> int:
        return len(self._orphans)

    @property
    def total_latency_score(self) -> int:
        """One for each announcement, and each orphan's inputs once."""
        return self._input_score + self.announcement_count

    @property
    def max_peer_latency_score(self) -> int:
        """A peer's share of the latency score; the more peers have orphans, the smaller."""
        return self.max_latency_score // max(1, len(self._peers))

    @property
    def max_usage(self) -> int:
        """Weight of all orphans that is allowed; the more peers have orphans, the larger."""
        return self.reserved_weight * max(1, len(self._peers))

    def announcements_from(self, peer: PeerId) -> int:
        """Return how many orphans the peer announced."""
        return self._peers[peer].count if peer in self._peers else 0

    def latency_score_of(self, peer: PeerId) -> int:
        """Return the latency score of what the peer announced."""
        return self._peers[peer].latency_score if peer in self._peers else 0

    def usage_of(self, peer: PeerId) -> int:
        """Return the weight of what the peer announced."""
        return self._peers[peer].usage if peer in self._peers else 0

    def get(self, wtxid: Wtxid) -> Transaction | None:
        """Return the orphan."""
        orphan = self._orphans.get(wtxid)
        return None if orphan is None else orphan.tx

    def have(self, wtxid: Wtxid) -> bool:
        """Whether it is there. Another witness is another orphan."""
        return wtxid in self._orphans

    def have_from(self, wtxid: Wtxid, peer: PeerId) -> bool:
        """Whether the peer announced it."""
        orphan = self._orphans.get(wtxid)
        return orphan is not None and peer in orphan.announced

    def orphans(self) -> list[OrphanInfo]:
        """Return all orphans by wtxid, as getorphantxs tells them."""
        return [OrphanInfo(orphan.tx, sorted(orphan.announced)) for _, orphan in sorted(self._orphans.items())]

    def add(self, tx: Transaction, peer: PeerId) -> bool:
        """Keep an orphan that the peer sent. Returns whether it is new; one above the standard weight is not kept."""
        if tx.weight > MAX_STANDARD_TX_WEIGHT:
            logger.debug(
                "ignoring large orphan tx (size: %u, txid: %s, wtxid: %s)",
                tx.weight,
                hash_to_hex(tx.txid),
                hash_to_hex(tx.wtxid),
            )
            return False
        if tx.wtxid in self._orphans:
            self.add_announcer(tx.wtxid, peer)
            return False
        orphan = self._orphans[tx.wtxid] = _Orphan(tx)
        self.total_usage += tx.weight
        self._input_score += orphan.input_score
        for txin in tx.inputs:
            self._spenders.setdefault(txin.prevout, set()).add(tx.wtxid)
        logger.debug(
            "stored orphan tx %s (wtxid=%s), weight: %u", hash_to_hex(tx.txid), hash_to_hex(tx.wtxid), tx.weight
        )
        self._announce(orphan, peer)
        return True

    def add_announcer(self, wtxid: Wtxid, peer: PeerId) -> bool:
        """Remember that the peer has the orphan too. Returns False if it is not there, or the peer said so before."""
        orphan = self._orphans.get(wtxid)
        if orphan is None or peer in orphan.announced:
            return False
        logger.debug(
            "added peer=%d as announcer of orphan tx %s (wtxid=%s)",
            peer,
            hash_to_hex(orphan.tx.txid),
            hash_to_hex(wtxid),
        )
        self._announce(orphan, peer)
        return True

    def _announce(self, orphan: _Orphan, peer: PeerId) -> None:
        number = self._next_number
        self._next_number += 1
        orphan.announced[peer] = number
        self.announcement_count += 1
        announcer = self._peers.setdefault(peer, _Peer())
        announcer.usage += orphan.tx.weight
        announcer.latency_score += 1 + orphan.input_score
        announcer.waiting.append((number, orphan.tx.wtxid))
        self._limit()

    def add_children_to_work_set(
        self, parent: Transaction, randrange: Callable[[int], int]
    ) -> list[tuple[Wtxid, PeerId]]:
        """Mark all orphans that spend `parent` as worth another look. Returns each with the peer that gets the work.

        The peer is one of the announcers at random, by `randrange(number of announcers)`, so that none can prevent it.
        """
        marked = []
        for index in range(len(parent.outputs)):
            for wtxid in sorted(self._spenders.get(make_outpoint(parent.txid, index), ())):
                orphan = self._orphans[wtxid]
                if orphan.worker is not None:
                    continue
                announcers = sorted(orphan.announced)
                peer = orphan.worker = announcers[randrange(len(announcers))]
                self._move(orphan, peer, to_work=True)
                marked.append((wtxid, peer))
                logger.debug(
                    "added %s (wtxid=%s) to peer %d workset", hash_to_hex(orphan.tx.txid), hash_to_hex(wtxid), peer
                )
        return marked

    def have_work(self, peer: PeerId) -> bool:
        """Whether an orphan of the peer is to be looked at again."""
        return peer in self._peers and bool(self._peers[peer].work)

    def take_work(self, peer: PeerId) -> Transaction | None:
        """Return the peer's oldest orphan that is to be looked at again; it stays, but leaves the work set."""
        if not self.have_work(peer):
            return None
        orphan = self._orphans[self._peers[peer].work[0][1]]
        orphan.worker = None
        self._move(orphan, peer, to_work=False)
        return orphan.tx

    def _move(self, orphan: _Orphan, peer: PeerId, *, to_work: bool) -> None:
        announcer = self._peers[peer]
        item = (orphan.announced[peer], orphan.tx.wtxid)
        source, target = announcer.waiting, announcer.work
        if not to_work:
            source, target = target, source
        del source[bisect_left(source, item)]
        insort(target, item)

    def children_from_same_peer(self, parent_txid: Txid, peer: PeerId) -> list[Transaction]:
        """Return the peer's orphans that spend the transaction: those with work first, then the newest."""
        announcer = self._peers.get(peer)
        if announcer is None:
            return []
        newest_first = [self._orphans[wtxid].tx for _, wtxid in (*announcer.work[::-1], *announcer.waiting[::-1])]
        return [tx for tx in newest_first if any(outpoint_txid(txin.prevout) == parent_txid for txin in tx.inputs)]

    def erase(self, wtxid: Wtxid) -> bool:
        """Forget an orphan, whoever announced it. Returns whether it was there."""
        erased = self._erase(wtxid)
        # With one peer less the limits may be lower.
        self._limit()
        return erased

    def erase_for_peer(self, peer: PeerId) -> None:
        """Forget what the peer announced; an orphan stays if another peer announced it too."""
        announcer = self._peers.get(peer)
        if announcer is None:
            return
        announced = [wtxid for _, wtxid in (*announcer.waiting, *announcer.work)]
        for wtxid in announced:
            self._erase_announcement(self._orphans[wtxid], peer)
        logger.debug("Erased %d orphan transaction(s) from peer=%d", len(announced), peer)
        self._limit()

    def erase_for_block(self, block: Block) -> None:
        """Forget all orphans that spend what the block spends: they are in it, or can't be valid any more."""
        if not self._orphans:
            return
        wtxids: set[Wtxid] = set()
        for tx in block.txs:
            for txin in tx.inputs:
                wtxids |= self._spenders.get(txin.prevout, set())
        for wtxid in wtxids:
            self._erase(wtxid)
        if wtxids:
            logger.debug("Erased %d orphan transaction(s) included or conflicted by block", len(wtxids))
        self._limit()

    def _erase(self, wtxid: Wtxid) -> bool:
        orphan = self._orphans.get(wtxid)
        if orphan is None:
            return False
        announcers = list(orphan.announced)
        for peer in announcers:
            self._erase_announcement(orphan, peer)
        logger.debug(
            "removed orphan tx %s (wtxid=%s) (%u announcements)",
            hash_to_hex(orphan.tx.txid),
            hash_to_hex(wtxid),
            len(announcers),
        )
        return True

    def _erase_announcement(self, orphan: _Orphan, peer: PeerId) -> None:
        wtxid = orphan.tx.wtxid
        announcer = self._peers[peer]
        item = (orphan.announced.pop(peer), wtxid)
        place = announcer.work if orphan.worker == peer else announcer.waiting
        del place[bisect_left(place, item)]
        if orphan.worker == peer:
            orphan.worker = None
        self.announcement_count -= 1
        announcer.usage -= orphan.tx.weight
        announcer.latency_score -= 1 + orphan.input_score
        if not announcer.count:
            del self._peers[peer]
        if not orphan.announced:
            self._forget(orphan)

    def _forget(self, orphan: _Orphan) -> None:
        wtxid = orphan.tx.wtxid
        del self._orphans[wtxid]
        self.total_usage -= orphan.tx.weight
        self._input_score -= orphan.input_score
        for prevout in {txin.prevout for txin in orphan.tx.inputs}:
            spenders = self._spenders[prevout]
            spenders.discard(wtxid)
            if not spenders:
                del self._spenders[prevout]

    def _needs_trim(self) -> bool:
        return self.total_latency_score > self.max_latency_score or self.total_usage > self.max_usage

    def _excess(self, peer: _Peer, latency_share: int) -> _Excess:
        return max(
            _Excess(Fraction(used, share), -share)
            for used, share in ((peer.latency_score, latency_share), (peer.usage, self.reserved_weight))
        )

    def _limit(self) -> None:
        """Evict until the whole is within its limits: always from the peer that exceeds its share most."""
        if not self._needs_trim():
            return
        before = len(self._orphans), self.announcement_count
        # The shares stay what they are now, though peers may be left without orphans on the way.
        latency_share = self.max_peer_latency_score
        worst: list[tuple[Fraction, int, PeerId]] = []
        for peer, announcer in self._peers.items():
            excess = self._excess(announcer, latency_share)
            if excess.ratio > 1:
                worst.append(_heap_item(excess, peer))
        heapq.heapify(worst)
        while self._needs_trim():
            peer = -heapq.heappop(worst)[2]
            next_worst = _Excess(-worst[0][0], -worst[0][1]) if worst else _Excess(Fraction(1), -1)
            excess_left = self._evict_from(peer, latency_share, next_worst)
            if excess_left is not None:
                heapq.heappush(worst, _heap_item(excess_left, peer))
        logger.debug(
            "orphanage overflow, removed %u tx (%u announcements)",
            before[0] - len(self._orphans),
            before[1] - self.announcement_count,
        )

    def _evict_from(self, peer: PeerId, latency_share: int, enough: _Excess) -> _Excess | None:
        """Evict the peer's oldest announcements, those with work last, until it is no worse than `enough`.

        Returns how much it still uses, None if nothing is left of it.
        """
        announcer = self._peers[peer]
        before = announcer.count
        excess: _Excess | None = None
        while self._needs_trim():
            _, wtxid = (announcer.waiting or announcer.work)[0]
            self._erase_announcement(self._orphans[wtxid], peer)
            excess = self._excess(announcer, latency_share) if announcer.count else None
            if excess is None or excess <= enough:
                break
        logger.debug(
            "peer=%d orphanage overflow, removed %u of %u announcements", peer, before - announcer.count, before
        )
        return excess


def _heap_item(excess: _Excess, peer: PeerId) -> tuple[Fraction, int, PeerId]:
    # Python's heaps have the smallest item on top. Of two equally bad peers the newer one is worse.
    return -excess.ratio, -excess.negative_share, -peer
