"""Telling peers of transactions, a few at a time and at random moments.

Owns: what is queued for each peer, and when it is told. Never: serving.
Source: Bitcoin Core's net_processing.cpp (SendMessages); BIP35, 133, 339.
"""

import random
from collections.abc import Iterable
from heapq import heapify, heappop

from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.pool import Mempool
from clarion.node.net.bloom_serving import BloomState
from clarion.node.net.clock import SECOND_US
from clarion.node.net.messages.inventory import Inv, InvMessage
from clarion.node.net.peer import Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import MAX_INV_SIZE, InvType
from clarion.node.net.relay.state import RelayState
from clarion.node.primitives.ids import Txid, Wtxid

INBOUND_INTERVAL_US = 5 * SECOND_US
OUTBOUND_INTERVAL_US = 2 * SECOND_US
"""Peers that we chose have less to gain from knowing when we heard of a transaction."""
PER_SECOND = 14
TARGET = PER_SECOND * INBOUND_INTERVAL_US // SECOND_US
MOST = 1000
_RANDOM = random.SystemRandom()


def random_interval(mean_us: int) -> int:
    """Return the time until the next event of a Poisson process, in microseconds."""
    return round(_RANDOM.expovariate(1 / mean_us))


class TransactionAnnouncements:
    """Announces what is in the pool."""

    def __init__(self, pool: Mempool, peers: PeerManager) -> None:
        self._pool = pool
        self._peers = peers
        self._next_to_inbound_us: dict[object, int] = {}
        """All peers that came in by the same way are told at the same time, so that more connections reveal no more."""

    def announce(self, txid: Txid, wtxid: Wtxid) -> None:
        """Queue a transaction for all peers that may not know it."""
        for peer in self._peers.peers.values():
            if not peer.relays_txs:
                continue
            state = peer.state(RelayState)
            # Before its first turn, a peer would hear of it without delay, and so learn when it came.
            if state.next_inv_us and (wtxid if peer.wtxid_relay else txid) not in state.known:
                state.to_send.add(wtxid)

    def send(self, peer: Peer, now_us: int) -> None:
        """Tell a peer what is due."""
        if not peer.relays_txs:
            return
        state = peer.state(RelayState)
        due = state.next_inv_us < now_us
        if not due and not peer.may(Permission.NO_BAN):
            return
        if state.to_send or state.wants_mempool:
            # Rather later than that everybody waits for a block that is being connected.
            if not self._pool.lock.acquire(blocking=False):
                return
            try:
                inventory = [*self._whole_pool(peer, state), *self._queued(peer, state)]
            finally:
                self._pool.lock.release()
            for at in range(0, len(inventory), MAX_INV_SIZE):
                peer.send(InvMessage(tuple(inventory[at : at + MAX_INV_SIZE])))
        state.last_inv_sequence = self._pool.sequence
        if due:
            state.next_inv_us = self._next_time(peer, now_us)

    def _next_time(self, peer: Peer, now_us: int) -> int:
        if not peer.is_inbound:
            return now_us + random_interval(OUTBOUND_INTERVAL_US)
        way = (peer.network, peer.bound_to)
        if self._next_to_inbound_us.get(way, 0) < now_us:
            self._next_to_inbound_us[way] = now_us + random_interval(INBOUND_INTERVAL_US)
        return self._next_to_inbound_us[way]

    # --- under the pool's lock --------------------------------------------------------------------------------------

    def _whole_pool(self, peer: Peer, state: RelayState) -> list[Inv]:
        if not state.wants_mempool:
            return []
        state.wants_mempool = False
        entries = self._pool.sorted_entries()
        state.to_send.difference_update(entry.wtxid for entry in entries)
        return _inventory(peer, state, [entry for entry in entries if _is_wanted(peer, entry, state)])

    def _queued(self, peer: Peer, state: RelayState) -> list[Inv]:
        """Take the best transactions from the queue, parents before their children."""
        most = min(MOST, TARGET + len(state.to_send) // 1000 * 5)
        queue = []
        for wtxid in list(state.to_send):
            entry = self._pool.get_by_wtxid(wtxid)
            if entry is None:
                state.to_send.discard(wtxid)
            else:
                queue.append((self._pool.graph.main_order_key(entry), entry))
        heapify(queue)
        told: list[MempoolEntry] = []
        while queue and len(told) < most:
            entry = heappop(queue)[1]
            state.to_send.discard(entry.wtxid)
            if (entry.wtxid if peer.wtxid_relay else entry.txid) not in state.known and _is_wanted(peer, entry, state):
                told.append(entry)
        return _inventory(peer, state, told)


def _is_wanted(peer: Peer, entry: MempoolEntry, state: RelayState) -> bool:
    """Whether a transaction pays what the peer asks for, and its filter, if it has one, matches it."""
    if entry.base_fee_sat < FeeRate(state.min_feerate_sat).fee(entry.vsize):
        return False
    bloom = peer.state(BloomState).filter
    return bloom is None or bloom.matches(entry.tx)


def _inventory(peer: Peer, state: RelayState, entries: Iterable[MempoolEntry]) -> list[Inv]:
    """Return the announcements of transactions, which the peer knows from now on."""
    items = []
    for entry in entries:
        item = Inv(InvType.WTX, entry.wtxid) if peer.wtxid_relay else Inv(InvType.TX, entry.txid)
        state.known.add(item.hash)
        items.append(item)
    return items
