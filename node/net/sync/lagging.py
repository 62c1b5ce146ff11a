"""Outbound peers whose chain stays behind ours: they get time to catch up, and are left if they don't.

Owns: the deadlines, and which peers are spared. Never: opening other connections.
Source: Bitcoin Core's src/net_processing.cpp (ConsiderEviction).
"""

import logging

from clarion.node.chain.manager import ChainManager
from clarion.node.net.clock import MINUTE_US
from clarion.node.net.context import NetContext
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.sync.headers import HEADERS_RESPONSE_US, HeaderSync
from clarion.node.net.sync.state import SyncState
from clarion.node.primitives.ids import hash_to_hex

MAX_PROTECTED = 4
CATCH_UP_US = 20 * MINUTE_US

logger = logging.getLogger("clarion.net")


class LaggingPeers:
    """Belongs to the network thread."""

    def __init__(self, context: NetContext, peers: PeerManager, headers: HeaderSync) -> None:
        self._peers = peers
        self._headers = headers
        self._manager: ChainManager = context.chain.manager

    def protect(self, peer: Peer) -> None:
        """Spare a full-relay peer for good if its chain is as good as ours and few are spared yet."""
        state = peer.state(SyncState)
        if peer.leaving or state.protected or peer.connection_type is not ConnectionType.OUTBOUND_FULL_RELAY:
            return
        if self._has_work_of(state, self._manager.tip.chainwork) and self._protected() < MAX_PROTECTED:
            logger.debug("Protecting outbound peer=%d from eviction", peer.id)
            state.protected = True

    def consider(self, peer: Peer, now_us: int) -> None:
        """Give a peer that fell behind a deadline, ask it once when that is over, and leave it after a second one."""
        state = peer.state(SyncState)
        if state.protected or not peer.is_automatic_outbound or not state.sync_started:
            return
        tip = self._manager.tip
        if self._has_work_of(state, tip.chainwork):
            state.catch_up_by_us, state.catch_up_to = 0, None
        elif state.catch_up_to is None or self._has_work_of(state, state.catch_up_to.chainwork):
            # It need not keep up with every block: only with what we had when the time began.
            state.catch_up_by_us, state.catch_up_to = now_us + CATCH_UP_US, tip
            state.catch_up_asked = False
        elif now_us > state.catch_up_by_us:
            self._time_is_over(peer, state, now_us)

    def _time_is_over(self, peer: Peer, state: SyncState, now_us: int) -> None:
        known = hash_to_hex(state.best_known.hash) if state.best_known is not None else "<none>"
        if state.catch_up_asked:
            logger.info("Outbound peer has old chain, best known block = %s, %s", known, peer.disconnecting)
            peer.disconnect()
            return
        target = state.catch_up_to
        assert target is not None, "a deadline has its target"
        # If an earlier request is still unanswered, its answer will do as well.
        self._headers.request(peer, target.prev or target)
        wanted = hash_to_hex(target.hash)
        logger.debug("asking outbound peer=%d for headers: it knows %s, we wanted %s", peer.id, known, wanted)
        state.catch_up_asked = True
        state.catch_up_by_us = now_us + HEADERS_RESPONSE_US

    def _protected(self) -> int:
        return sum(peer.state(SyncState).protected for peer in self._peers.peers.values())

    def _has_work_of(self, state: SyncState, chainwork: int) -> bool:
        return state.best_known is not None and state.best_known.chainwork >= chainwork
