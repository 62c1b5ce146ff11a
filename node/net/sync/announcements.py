"""Telling peers of new blocks.

Owns: what each peer is told and in which form. Never: serving.
Source: Bitcoin Core's net_processing.cpp (UpdatedBlockTip, SendMessages); BIP130.
"""

import logging

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.net.context import NetContext
from clarion.node.net.messages.blocks import Headers
from clarion.node.net.messages.inventory import Inv, InvMessage
from clarion.node.net.messages.message import SendHeaders
from clarion.node.net.peer import Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import SENDHEADERS_VERSION, InvType
from clarion.node.net.sync.availability import last_common_ancestor, peer_has_header, update_availability
from clarion.node.net.sync.recent_blocks import RecentBlocks
from clarion.node.net.sync.state import SyncState
from clarion.node.primitives.ids import BlockHash, hash_to_hex

MAX_BLOCKS_TO_ANNOUNCE = 8

logger = logging.getLogger("clarion.net")


class BlockAnnouncements:
    """Announces what became the tip."""

    def __init__(self, context: NetContext, peers: PeerManager, recent: RecentBlocks) -> None:
        self._recent = recent
        self._context = context
        self._peers = peers
        self._manager = context.chain.manager
        self._told = self._manager.tip

    def tip_moved(self) -> int:
        """Queue the new blocks for every peer, unless we are catching up ourselves; return how many were connected."""
        before, tip = self._told, self._manager.tip
        if tip is before:
            return 0
        self._told = tip
        fork = last_common_ancestor(before, tip)
        if self._manager.initial_download:
            return tip.height - fork.height
        hashes: list[BlockHash] = []
        at: BlockIndexEntry | None = tip
        # The block of a snapshot becomes the tip without being there.
        while at is not None and at is not fork and at.has_data and len(hashes) < MAX_BLOCKS_TO_ANNOUNCE:
            hashes.append(at.hash)
            at = at.prev
        for peer in self._peers.peers.values():
            peer.state(SyncState).to_announce += hashes[::-1]
        return tip.height - fork.height

    def request_headers_announcements(self, peer: Peer) -> None:
        """Ask a peer to announce by headers, once its chain is known to be worth following."""
        state = peer.state(SyncState)
        least = self._manager.state.options.minimum_chainwork
        if (
            not state.sendheaders_sent
            and peer.common_version >= SENDHEADERS_VERSION
            and state.best_known is not None
            and state.best_known.chainwork > least
        ):
            peer.send(SendHeaders())
            state.sendheaders_sent = True

    def announce(self, peer: Peer) -> None:
        """Tell a peer of the queued blocks: by headers that connect to what it has, else the last one by inv."""
        state = peer.state(SyncState)
        if not state.to_announce:
            return
        update_availability(self._manager, state)
        queued, state.to_announce = state.to_announce, []
        entries = [entry for block_hash in queued if (entry := self._manager.lookup(block_hash)) is not None]
        by_header = state.prefers_headers or (state.wants_compact and len(entries) == 1)
        headers = self._connecting(state, entries) if by_header and len(entries) <= MAX_BLOCKS_TO_ANNOUNCE else None
        if headers is None or (len(headers) > 1 and not state.prefers_headers):
            self._announce_last(peer, state, entries)
        elif len(headers) == 1 and state.wants_compact and (compact := self._recent.compact(headers[0])) is not None:
            logger.debug("sending header-and-ids %s to peer=%d", hash_to_hex(headers[0].hash), peer.id)
            peer.send(compact)
            state.best_header_sent = headers[0]
        elif headers:
            logger.debug(
                "sending header%s %s to peer=%d",
                "s" if len(headers) > 1 else "",
                ", ".join(hash_to_hex(entry.hash) for entry in headers),
                peer.id,
            )
            peer.send(Headers(tuple([entry.header() for entry in headers])))
            state.best_header_sent = headers[-1]

    def _connecting(self, state: SyncState, entries: list[BlockIndexEntry]) -> list[BlockIndexEntry] | None:
        """Return the blocks that the peer lacks, None if they can't be told by headers that connect."""
        tip = self._manager.tip
        found: list[BlockIndexEntry] = []
        before: BlockIndexEntry | None = None
        for entry in entries:
            if tip.ancestor(entry.height) is not entry or (before is not None and entry.prev is not before):
                return None
            before = entry
            if found:
                found.append(entry)
            elif not peer_has_header(state, entry):
                if entry.prev is not None and not peer_has_header(state, entry.prev):
                    return None
                found.append(entry)
        return found

    def _announce_last(self, peer: Peer, state: SyncState, entries: list[BlockIndexEntry]) -> None:
        if entries and not peer_has_header(state, entries[-1]):
            logger.debug("sending inv peer=%d hash=%s", peer.id, hash_to_hex(entries[-1].hash))
            peer.send(InvMessage((Inv(InvType.BLOCK, entries[-1].hash),)))
