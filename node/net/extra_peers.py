"""Outbound peers beyond the usual number: when one is wanted as our tip is old, and which is left for another.

Owns: the check that runs at intervals. Never: opening connections.
Source: Bitcoin Core's src/net_processing.cpp (CheckForStaleTipAndEvictPeers, EvictExtraOutboundPeers).
"""

import logging
from collections.abc import Callable

from clarion.node.net.clock import MINUTE_US, SECOND_US
from clarion.node.net.context import NetContext
from clarion.node.net.outbound import Outbound
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.sync.block_sync import BlockSync
from clarion.node.net.sync.state import SyncState

CHECK_INTERVAL_S = 45
STALE_CHECK_INTERVAL_US = 10 * MINUTE_US
MIN_CONNECTED_US = 30 * SECOND_US
"""What is newer has not had the time to show what it is worth."""

logger = logging.getLogger("clarion.net")


class ExtraPeers:
    """Belongs to the network thread."""

    def __init__(
        self,
        context: NetContext,
        peers: PeerManager,
        outbound: Outbound,
        sync: BlockSync,
        is_active: Callable[[], bool],
    ) -> None:
        """`is_active`: whether connections are opened at all."""
        self._context = context
        self._peers = peers
        self._outbound = outbound
        self._sync = sync
        self._is_active = is_active
        self._next_stale_check_us = 0
        self._is_synced = False

    def check(self) -> None:
        """Leave one peer of each kind that there are too many of, and see whether our tip may be stale."""
        now_us = self._context.clock.now_us()
        if self._outbound.extra_block_relay():
            self._leave_for_blocks_only(now_us)
        if self._outbound.extra_full_relay():
            self._leave_full_relay(now_us)
        if now_us > self._next_stale_check_us:
            self._next_stale_check_us = now_us + STALE_CHECK_INTERVAL_US
            self._look_at_tip()
        if not self._is_synced and self._sync.headers.can_fetch_directly():
            self._outbound.begin_extra_block_relay()
            self._is_synced = True

    def _leave_for_blocks_only(self, now_us: int) -> None:
        """Leave the younger of the two youngest, unless it was the last of them to give us a block."""
        youngest, *older = sorted(self._of_kind(ConnectionType.BLOCK_RELAY), key=lambda peer: -peer.id)
        if older and youngest.last_block > older[0].last_block:
            youngest = older[0]
        if self._may_go(youngest, now_us):
            logger.debug(
                "disconnecting extra block-relay-only peer=%d (last block at %d)", youngest.id, youngest.last_block
            )
            youngest.disconnect()

    def _leave_full_relay(self, now_us: int) -> None:
        """Leave the one that has not announced a block for longest, the youngest among equals."""
        candidates = [
            peer
            for peer in self._of_kind(ConnectionType.OUTBOUND_FULL_RELAY)
            if not peer.state(SyncState).protected
            and self._outbound.has_several_on(peer.endpoint.address.public_network)
        ]
        if not candidates:
            return
        worst = min(candidates, key=lambda peer: (peer.state(SyncState).last_announcement, -peer.id))
        if self._may_go(worst, now_us):
            announced = worst.state(SyncState).last_announcement
            logger.debug("disconnecting extra outbound peer=%d (last block announcement at %d)", worst.id, announced)
            worst.disconnect()
            # One more was found, and that did not help: enough until the tip is found stale again.
            self._outbound.try_another(False)

    def _of_kind(self, kind: ConnectionType) -> list[Peer]:
        return [peer for peer in self._peers.peers.values() if peer.connection_type is kind and not peer.leaving]

    def _may_go(self, peer: Peer, now_us: int) -> bool:
        """Whether a peer has had its time and is not giving us a block right now."""
        in_flight = len(peer.state(SyncState).in_flight)
        may_go = now_us - peer.connected_us >= MIN_CONNECTED_US and not in_flight
        if not may_go:
            logger.debug("keeping extra outbound peer=%d: it is new, or owes us %d blocks", peer.id, in_flight)
        return may_go

    def _look_at_tip(self) -> None:
        age = self._tip_age_s()
        chooses = self._context.options.connect is None and self._is_active()
        if chooses and not self._context.chain.manager.state.importing and age is not None:
            logger.info(
                "Potential stale tip detected, one more outbound peer is tried (last tip update: %d seconds ago)", age
            )
            self._outbound.try_another(True)
        elif self._outbound.tries_another:
            self._outbound.try_another(False)

    def _tip_age_s(self) -> int | None:
        """Return how long ago the last block came if that is suspiciously long and none is on its way."""
        age = self._sync.seconds_without_block()
        is_stale = age > 3 * self._context.params.pow_target_spacing and not len(self._sync.requests)
        return age if is_stale else None
