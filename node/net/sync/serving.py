"""Blocks and headers for others.

Owns: what a peer may have, and in which form. Never: announcing on our own.
Source: Bitcoin Core's net_processing.cpp (ProcessGetBlockData, getheaders, getblocks).
"""

import logging
from collections.abc import Sequence

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.consensus.pow import block_proof_equivalent_time
from clarion.node.errors import BlockFileError
from clarion.node.net.bloom_serving import send_filtered_block
from clarion.node.net.context import NetContext
from clarion.node.net.messages.blocks import BlockMessage, GetBlocks, GetHeaders, Headers
from clarion.node.net.messages.inventory import Inv, InvMessage
from clarion.node.net.peer import Peer
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import MAX_HEADERS_RESULTS, MAX_LOCATOR_SIZE, InvType, ServiceFlags
from clarion.node.net.sync.recent_blocks import RecentBlocks
from clarion.node.net.sync.state import SyncState
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import NULL_HASH, BlockHash, hash_to_hex
from clarion.node.storage import block_status

MAX_GETBLOCKS = 500
MAX_CMPCTBLOCK_DEPTH = 5
HISTORICAL_BLOCK_AGE_S = 7 * 24 * 60 * 60
"""Older blocks than this may be too much for -maxuploadtarget."""
LIMITED_DEPTH = 288 + 2
"""A pruned node has this many of the last blocks (BIP159); two more are for those that are on their way."""
STALE_RELAY_AGE_S = 30 * 24 * 60 * 60
"""Blocks off the active chain are given out for a month: to answer for older ones would give a node away."""

logger = logging.getLogger("clarion.net")


class BlockServing:
    """Answers getheaders, getblocks and getdata for blocks."""

    def __init__(self, context: NetContext, recent: RecentBlocks) -> None:
        self._context = context
        self._recent = recent
        self._manager = context.chain.manager

    def find_fork(self, locator: Sequence[BlockHash]) -> BlockIndexEntry:
        """Return the last block of the active chain that the locator's owner has, genesis if nothing else."""
        tip = self._manager.tip
        for block_hash in locator:
            entry = self._manager.lookup(block_hash)
            if entry is None:
                continue
            if tip.ancestor(entry.height) is entry:
                return entry
            if entry.ancestor(tip.height) is tip:
                return tip
        genesis = tip.ancestor(0)
        assert genesis is not None
        return genesis

    def may_have(self, entry: BlockIndexEntry) -> bool:
        """Whether peers may know that we have a block."""
        manager = self._manager
        if manager.tip.ancestor(entry.height) is entry:
            return True
        best = manager.state.best_header
        return (
            best is not None
            and entry.is_valid(block_status.VALID_SCRIPTS)
            and best.time - entry.time < STALE_RELAY_AGE_S
            and block_proof_equivalent_time(best.chainwork, entry.chainwork, best.bits, self._context.params)
            < STALE_RELAY_AGE_S
        )

    async def get_headers(self, peer: Peer, payload: bytes) -> None:
        """Answer with headers behind the locator, or with the one that is named without a locator."""
        message = GetHeaders.parse(payload)
        if self._is_too_long(peer, message.locator, "getheaders"):
            return
        manager = self._manager
        if manager.state.importing:
            logger.debug("Ignoring getheaders from peer=%d while importing/reindexing", peer.id)
            return
        tip = manager.tip
        if tip.chainwork < manager.state.options.minimum_chainwork and not peer.may(Permission.DOWNLOAD):
            logger.debug(
                "Ignoring getheaders from peer=%d because active chain has too little work; sending empty response",
                peer.id,
            )
            peer.send(Headers(()))
            return
        if not message.locator:
            at = manager.lookup(message.stop)
            if at is None:
                return
            if not self.may_have(at):
                logger.debug("ignoring request from peer=%d for old block header that isn't in the main chain", peer.id)
                return
        else:
            at = tip.ancestor(self.find_fork(message.locator).height + 1)
        stop = "end" if message.stop == NULL_HASH else hash_to_hex(message.stop)
        logger.debug("getheaders %d to %s from peer=%d", at.height if at else -1, stop, peer.id)
        self._send_headers(peer, at, tip, message.stop)

    def _send_headers(self, peer: Peer, at: BlockIndexEntry | None, tip: BlockIndexEntry, stop: BlockHash) -> None:
        headers = []
        while at is not None:
            headers.append(at.header())
            if len(headers) == MAX_HEADERS_RESULTS or at.hash == stop:
                break
            at = tip.ancestor(at.height + 1) if tip.ancestor(at.height) is at else None
        # Also when nothing new was sent: the peer has our tip then.
        peer.state(SyncState).best_header_sent = at or tip
        peer.send(Headers(tuple(headers)))

    async def get_blocks(self, peer: Peer, payload: bytes) -> None:
        """Answer with the inventory of blocks behind the locator."""
        message = GetBlocks.parse(payload)
        if self._is_too_long(peer, message.locator, "getblocks"):
            return
        tip = self._manager.tip
        start = self.find_fork(message.locator).height + 1
        items = []
        for height in range(start, tip.height + 1):
            entry = tip.ancestor(height)
            assert entry is not None
            if entry.hash == message.stop or not entry.has_data:
                break
            items.append(Inv(InvType.BLOCK, entry.hash))
            if len(items) == MAX_GETBLOCKS:
                peer.state(SyncState).continuation = entry.hash
                break
        logger.debug("getblocks %d limit %d from peer=%d", start, MAX_GETBLOCKS, peer.id)
        if items:
            peer.send(InvMessage(tuple(items)))

    def _is_too_long(self, peer: Peer, locator: Sequence[BlockHash], what: str) -> bool:
        if len(locator) <= MAX_LOCATOR_SIZE:
            return False
        peer.disconnect(f"{what} locator size {len(locator)} > {MAX_LOCATOR_SIZE}")
        return True

    def send_block(self, peer: Peer, item: Inv) -> None:
        """Answer one block of a getdata; silence where the peer may not have it."""
        entry = self._manager.lookup(BlockHash(item.hash))
        if entry is None:
            return
        if not self.may_have(entry):
            logger.debug("ignoring request from peer=%d for old block that isn't in the main chain", peer.id)
            return
        refusal = self._refusal(peer, item, entry)
        if refusal:
            peer.disconnect(refusal)
            return
        if not entry.has_data:
            return
        try:
            raw = self._context.stores.block_files.read(entry.data_position)
        except BlockFileError:
            if entry.has_data:
                logger.error("Cannot load block from disk, %s", peer.disconnecting)
            peer.disconnect("Block was pruned before it could be read")
            return
        self._send(peer, item, entry, raw)
        self._continue(peer, entry)

    def _refusal(self, peer: Peer, item: Inv, entry: BlockIndexEntry) -> str:
        """Return why a peer that asks for a block is left, empty if it may have it."""
        manager, context = self._manager, self._context
        best = manager.state.best_header
        old = best is not None and best.time - entry.time > HISTORICAL_BLOCK_AGE_S
        if (
            (old or item.type == InvType.FILTERED_BLOCK)
            and not context.traffic.serves_old_blocks
            and not peer.may(Permission.DOWNLOAD)
        ):
            return "historical block serving limit reached"
        # A peer that was left waiting for a block that we lack would be stuck; and what we lack is nobody's business.
        limited = not peer.our_services & ServiceFlags.NETWORK
        if limited and not peer.may(Permission.NO_BAN) and manager.tip.height - entry.height > LIMITED_DEPTH:
            return "Ignore block request below NODE_NETWORK_LIMITED threshold"
        return ""

    def _send(self, peer: Peer, item: Inv, entry: BlockIndexEntry, raw: bytes) -> None:
        if item.type == InvType.BLOCK:
            peer.send(BlockMessage(Block.parse(raw), witness=False))
            return
        if item.type == InvType.FILTERED_BLOCK:
            send_filtered_block(peer, Block.parse(raw))
            return
        tip = self._manager.tip
        if item.type == InvType.CMPCT_BLOCK and entry.height >= tip.height - MAX_CMPCTBLOCK_DEPTH:
            # For an older block the peer's pool is no help.
            recent = self._context.clock.now() - tip.time < 20 * self._context.params.pow_target_spacing
            compact = self._recent.compact(entry) if recent else None
            if compact is not None:
                peer.send(compact)
                return
        if item.type in (InvType.WITNESS_BLOCK, InvType.CMPCT_BLOCK):
            peer.send_raw("block", raw)

    def _continue(self, peer: Peer, entry: BlockIndexEntry) -> None:
        state = peer.state(SyncState)
        if state.continuation == entry.hash:
            state.continuation = None
            peer.send(InvMessage((Inv(InvType.BLOCK, self._manager.tip.hash),)))
