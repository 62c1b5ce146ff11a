"""Synchronisation as a whole: what is done for a peer, and when.

Owns: the composition of this package and the choice of the peer that headers are synced from. Never: the parts' rules.
"""

import logging

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.net.context import NetContext
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.sync.announcements import BlockAnnouncements
from clarion.node.net.sync.compact_blocks import CompactBlocks
from clarion.node.net.sync.download import BlockDownload
from clarion.node.net.sync.headers import HeaderSync
from clarion.node.net.sync.lagging import LaggingPeers
from clarion.node.net.sync.recent_blocks import RecentBlocks
from clarion.node.net.sync.requests import BlockRequests
from clarion.node.net.sync.serving import BlockServing
from clarion.node.net.sync.state import SyncState, can_serve_blocks, can_serve_witnesses, is_limited, is_preferred

RECENT_S = 24 * 60 * 60

logger = logging.getLogger("clarion.net")


class BlockSync:
    """Follows the best chain that peers have, and gives ours to them."""

    def __init__(self, context: NetContext, peers: PeerManager) -> None:
        self._context = context
        self._peers = peers
        self._manager = context.chain.manager
        self.requests = BlockRequests()
        self.headers = HeaderSync(context, self.requests)
        self.lagging = LaggingPeers(context, peers, self.headers)
        self.headers.on_headers = self.lagging.protect
        self.recent = RecentBlocks(context.stores.block_files)
        self.download = BlockDownload(context, self.requests, self.headers, self.recent, peers.judge)
        self.compact = CompactBlocks(context, self.requests, self.headers, self.download, self.recent)
        self.download.on_good_block = self.compact.prefer
        self.serving = BlockServing(context, self.recent)
        self.announcements = BlockAnnouncements(context, peers, self.recent)
        self._last_block_time: int | None = None
        peers.register("headers", self.headers.handle)
        peers.register("getheaders", self.serving.get_headers)
        peers.register("getblocks", self.serving.get_blocks)
        peers.register("block", self.download.handle)
        peers.register("sendheaders", self._send_headers)
        peers.register("sendcmpct", self.compact.send_cmpct)
        peers.register("cmpctblock", self.compact.compact_block)
        peers.register("getblocktxn", self.compact.get_block_txn)
        peers.register("blocktxn", self.compact.block_txn)
        peers.before_message.append(self.download.settle)
        peers.ticks.append(self._tick)
        peers.on_disconnected.append(self._forget)

    async def _send_headers(self, peer: Peer, payload: bytes) -> None:
        peer.state(SyncState).prefers_headers = True

    def tip_moved(self) -> None:
        """Take note of a commit that may have moved the tip. Runs on the network thread."""
        for _ in range(self.announcements.tip_moved()):
            self.download.block_connected()
            self._last_block_time = self._context.clock.now()
        for peer in list(self._peers.peers.values()):
            if peer.fully_connected and not peer.leaving:
                self.announcements.announce(peer)

    def seconds_without_block(self) -> int:
        """Return how long ago a block was last connected; before the first one, how long ago this was first asked."""
        now = self._context.clock.now()
        if self._last_block_time is None:
            self._last_block_time = now
        return now - self._last_block_time

    def fetch(self, peer_id: int, entry: BlockIndexEntry) -> str | None:
        """Ask one peer for a block; None, or why it can't be asked in the reference's words."""
        if self._manager.state.importing:
            return "Loading blocks ..."
        peer = self._peers.peers.get(peer_id)
        if peer is None:
            return "Peer does not exist"
        if not can_serve_witnesses(peer):
            return "Pre-SegWit peer"
        if not peer.fully_connected or peer.leaving:
            return "Peer not fully connected"
        self.download.request_from(peer, entry)
        return None

    def _forget(self, peer: Peer) -> None:
        self.requests.remove_peer(peer, self._context.clock.now_us())
        self.compact.forget(peer)

    # --- every tenth of a second ------------------------------------------------------------------------------------

    def _tick(self, peer: Peer, now_us: int) -> None:
        self.announcements.request_headers_announcements(peer)
        self._start_headers(peer, now_us)
        self.announcements.announce(peer)
        self.download.check_patience(peer, now_us)
        if not peer.leaving:
            self._check_headers_patience(peer, now_us)
            self.lagging.consider(peer, now_us)
        if peer.leaving or not can_serve_blocks(peer) or self.headers.deciding:
            return
        if (self._may_sync_from(peer) and not is_limited(peer)) or not self._manager.initial_download:
            self.download.request_more(peer, now_us)

    def _may_sync_from(self, peer: Peer) -> bool:
        """Whether blocks are fetched from the peer in initial download: rather from peers that we chose."""
        if is_preferred(peer):
            return True
        if not can_serve_blocks(peer) or peer.connection_type is ConnectionType.ADDR_FETCH:
            return False
        return not self._preferred() or not len(self.requests)

    def _preferred(self) -> list[Peer]:
        return [each for each in self._peers.peers.values() if each.fully_connected and is_preferred(each)]

    def _syncing(self) -> list[Peer]:
        return [each for each in self._peers.peers.values() if each.state(SyncState).sync_started]

    def _start_headers(self, peer: Peer, now_us: int) -> None:
        state = peer.state(SyncState)
        if state.sync_started or not can_serve_blocks(peer) or self._manager.state.importing:
            return
        recent = self.headers.best_header().time > self._context.clock.now() - RECENT_S
        if recent or (not self._syncing() and self._may_sync_from(peer)):
            self.headers.start(peer, now_us)

    def _check_headers_patience(self, peer: Peer, now_us: int) -> None:
        """Leave the only peer that we sync headers from if it does not send them and others could."""
        state = peer.state(SyncState)
        if not state.sync_started or not state.headers_timeout_us:
            return
        if self.headers.best_header().time > self._context.clock.now() - RECENT_S:
            state.headers_timeout_us = 0
            return
        others = [each for each in self._preferred() if each is not peer]
        if now_us <= state.headers_timeout_us or len(self._syncing()) != 1 or not others:
            return
        if peer.may(Permission.NO_BAN):
            logger.info("Timeout downloading headers from noban peer, not %s", peer.disconnecting)
            state.sync_started = False
            state.headers_timeout_us = 0
            return
        logger.info("Timeout downloading headers, %s", peer.disconnecting)
        peer.disconnect()
