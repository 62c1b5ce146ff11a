"""Compact blocks: blocks as short ids of transactions that the receiver is likely to have (BIP152).

Owns: taking them, serving them, and the choice of peers that send them unasked. Never: putting blocks together
(`partial_block`), announcing (`announcements`).
Source: Bitcoin Core's net_processing.cpp.
"""

import logging
from collections import deque

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.consensus.deployments import buried_active_after
from clarion.node.consensus.pow import block_proof
from clarion.node.errors import DecodeError
from clarion.node.net.context import NetContext
from clarion.node.net.messages.blocks import BlockMessage
from clarion.node.net.messages.compact import BlockTxn, CompactBlock, GetBlockTxn
from clarion.node.net.messages.handshake import SendCmpct
from clarion.node.net.messages.inventory import GetData, Inv
from clarion.node.net.peer import Peer
from clarion.node.net.protocol import CMPCTBLOCKS_VERSION, MAX_BLOCKS_IN_TRANSIT_PER_PEER, InvType
from clarion.node.net.sync.availability import note_block
from clarion.node.net.sync.download import BlockDownload
from clarion.node.net.sync.headers import HeaderSync
from clarion.node.net.sync.partial_block import Filling, PartialBlock
from clarion.node.net.sync.recent_blocks import RecentBlocks
from clarion.node.net.sync.requests import BlockRequests
from clarion.node.net.sync.state import SyncState
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import Transaction

MAX_BLOCKTXN_DEPTH = 10
MAX_COMPACT_IN_FLIGHT = 3
"""Peers from which the transactions of one compact block are asked at a time."""
HIGH_BANDWIDTH_PEERS = 3

logger = logging.getLogger("clarion.cmpctblock")
net_logger = logging.getLogger("clarion.net")


class CompactBlocks:
    """Takes and gives blocks in their compact form."""

    def __init__(
        self,
        context: NetContext,
        requests: BlockRequests,
        headers: HeaderSync,
        download: BlockDownload,
        recent: RecentBlocks,
    ) -> None:
        self._context = context
        self._manager = context.chain.manager
        self._requests = requests
        self._headers = headers
        self._download = download
        self._recent = recent
        self._announcing: list[Peer] = []
        """Peers that send us compact blocks unasked, the one that did so longest ago first."""
        self.extra: deque[Transaction] = deque(maxlen=context.options.extra_transactions)
        """Transactions that are not in the pool and may be in a block: refused and replaced ones."""

    # --- who sends unasked ------------------------------------------------------------------------------------------

    async def send_cmpct(self, peer: Peer, payload: bytes) -> None:
        """Handle a `sendcmpct` message."""
        if payload and payload[0] > 1:
            peer.misbehaving("invalid sendcmpct announce field")
            return
        message = SendCmpct.parse(payload)
        if message.version == CMPCTBLOCKS_VERSION:
            state = peer.state(SyncState)
            state.provides_compact = True
            state.wants_compact = message.high_bandwidth

    def prefer(self, peer: Peer) -> None:
        """Ask a peer that was the first with a good block to send the next ones unasked; another is asked to stop."""
        if self._context.options.blocks_only or not peer.state(SyncState).provides_compact or peer.leaving:
            return
        announcing = self._announcing
        if peer in announcing:
            announcing.remove(peer)
            announcing.append(peer)
            return
        outbound = sum(not each.is_inbound for each in announcing)
        if (
            peer.is_inbound
            and len(announcing) >= HIGH_BANDWIDTH_PEERS
            and outbound == 1
            and not announcing[0].is_inbound
        ):
            # The last one that we chose ourselves is kept.
            announcing[0], announcing[1] = announcing[1], announcing[0]
        self._ask(peer, True)
        announcing.append(peer)
        if len(announcing) > HIGH_BANDWIDTH_PEERS:
            self._ask(announcing.pop(0), False)

    def _ask(self, peer: Peer, high_bandwidth: bool) -> None:
        peer.send(SendCmpct(high_bandwidth, CMPCTBLOCKS_VERSION))
        peer.state(SyncState).sends_compact = high_bandwidth

    def forget(self, peer: Peer) -> None:
        """Take note that a peer has gone."""
        if peer in self._announcing:
            self._announcing.remove(peer)

    # --- blocks that come -------------------------------------------------------------------------------------------

    async def compact_block(self, peer: Peer, payload: bytes) -> None:
        """Handle a `cmpctblock` message."""
        if self._manager.state.importing:
            logger.debug("%s sent us a compact block even though we are still loading blocks!", peer.log_name)
            return
        if self._context.options.blocks_only:
            logger.debug("%s sent us a compact block even though we are blocksonly!", peer.log_name)
            return
        if not peer.state(SyncState).provides_compact:
            logger.debug("%s sent us a compact block despite never having sent us a SENDCMPCT!", peer.log_name)
            return
        compact = CompactBlock.parse(payload)
        parent = self._manager.lookup(compact.header.prev_hash)
        if parent is None:
            if not self._manager.initial_download:
                self._headers.request(peer, self._headers.best_header())
            return
        if parent.chainwork + block_proof(compact.header.bits) < self._headers.work_threshold():
            net_logger.debug("Ignoring low-work compact block from peer %d", peer.id)
            return
        with self._headers.first_choice():
            is_new = self._manager.lookup(compact.header.hash) is None
            entry = await self._headers.accept(peer, [compact.header], via_compact_block=True)
            if entry is not None:
                state = peer.state(SyncState)
                note_block(self._manager, state, entry.hash)
                if is_new:
                    self._headers.note_announcement(state, entry)
                if not entry.has_data:
                    await self._take(peer, compact, entry, parent)

    async def _take(self, peer: Peer, compact: CompactBlock, entry: BlockIndexEntry, parent: BlockIndexEntry) -> None:
        state = peer.state(SyncState)
        asked = self._requests.peers(entry.hash)
        from_this_peer = peer in asked
        tip = self._manager.tip
        if not from_this_peer and not state.sends_compact:
            logger.debug("%s, not marked as high-bandwidth, sent us an unsolicited compact block!", peer.log_name)
        elif entry.chainwork <= tip.chainwork or entry.tx_count:
            # We know better; the pool would hardly help with an old block.
            if from_this_peer:
                self._request_whole(peer, entry)
        elif not asked and not self._headers.can_fetch_directly():
            return
        elif entry.height > tip.height + 2:
            if from_this_peer:
                self._request_whole(peer, entry)
            else:
                await self._headers.process(peer, [compact.header], via_compact_block=True)
        elif from_this_peer or (
            len(asked) < MAX_COMPACT_IN_FLIGHT and len(state.in_flight) < MAX_BLOCKS_IN_TRANSIT_PER_PEER
        ):
            await self._begin(peer, compact, entry, asked)
        else:
            await self._try_without_asking(peer, compact, parent)

    async def _begin(self, peer: Peer, compact: CompactBlock, entry: BlockIndexEntry, asked: list[Peer]) -> None:
        state = peer.state(SyncState)
        if entry.hash in state.partial:
            net_logger.debug("Peer sent us compact block we were already syncing!")
            return
        now_us = self._context.clock.now_us()
        self._requests.add(peer, entry, now_us)
        partial = state.partial[entry.hash] = PartialBlock()
        first = not asked or asked[0] is peer
        filling = self._match(partial, compact)
        if filling is Filling.INVALID:
            self._requests.remove(entry.hash, now_us, peer)
            peer.misbehaving("invalid compact block")
        elif filling is Filling.FAILED:
            if first:
                self._request_whole(peer, entry)
            else:
                self._requests.remove(entry.hash, now_us, peer)
        elif not (missing := partial.missing):
            await self._finish(peer, BlockTxn(entry.hash, ()))
        elif first or self._may_ask_too(peer, asked):
            peer.send(GetBlockTxn(entry.hash, tuple(missing)))
        else:
            self._requests.remove(entry.hash, now_us, peer)

    def _may_ask_too(self, peer: Peer, asked: list[Peer]) -> bool:
        """Whether a peer beside the first is asked: the last place is kept for one that we chose ourselves."""
        if not peer.state(SyncState).sends_compact:
            return False
        chosen = not peer.is_inbound or any(not each.is_inbound for each in asked)
        return chosen or len(asked) < MAX_COMPACT_IN_FLIGHT - 1

    async def _try_without_asking(self, peer: Peer, compact: CompactBlock, parent: BlockIndexEntry) -> None:
        """A block that others owe us may be complete with what is at hand."""
        partial = PartialBlock()
        if self._match(partial, compact) is not Filling.OK:
            return
        filling, block = partial.fill((), segwit_active=buried_active_after(parent, self._context.params, "segwit"))
        if filling is Filling.OK and block is not None:
            await self._download.process(peer, block, via_compact_block=True)

    def _match(self, partial: PartialBlock, compact: CompactBlock) -> Filling:
        pool = self._context.mempool.pool
        with pool.lock:
            known = [entry.tx for entry in pool.entries.values()]
        filling = partial.begin(compact, known, list(self.extra))
        logger.debug(
            "Initialized PartiallyDownloadedBlock for block %s using a cmpctblock of %d transactions",
            hash_to_hex(compact.header.hash),
            compact.tx_count,
        )
        return filling

    def _request_whole(self, peer: Peer, entry: BlockIndexEntry) -> None:
        peer.send(GetData((Inv(InvType.WITNESS_BLOCK, entry.hash),)))

    async def block_txn(self, peer: Peer, payload: bytes) -> None:
        """Handle a `blocktxn` message."""
        if self._manager.state.importing:
            net_logger.debug("Unexpected blocktxn message received from peer %d", peer.id)
            return
        await self._finish(peer, BlockTxn.parse(payload))

    async def _finish(self, peer: Peer, message: BlockTxn) -> None:
        state = peer.state(SyncState)
        partial = state.partial.get(message.block_hash)
        now_us = self._context.clock.now_us()
        if partial is None:
            net_logger.debug("Peer %d sent us block transactions for block we weren't expecting", peer.id)
            return
        if partial.is_used:
            self._requests.remove(message.block_hash, now_us, peer)
            peer.misbehaving("previous compact block reconstruction attempt failed")
            return
        first = self._requests.first_peer(message.block_hash) is peer
        parent = self._manager.lookup(partial.prev_hash)
        segwit_active = parent is not None and buried_active_after(parent, self._context.params, "segwit")
        filling, block = partial.fill(message.txs, segwit_active=segwit_active)
        if filling is Filling.INVALID:
            self._requests.remove(message.block_hash, now_us, peer)
            peer.misbehaving("invalid compact block/non-matching block transactions")
        elif block is not None:
            self._log_filled(block, len(message.txs))
            await self._download.process(peer, block, via_compact_block=True)
        elif first:
            # Two transactions shared a short id: the whole block helps. The used form stays, so that the same peer
            # can't send another one for this block.
            peer.send(GetData((Inv(InvType.WITNESS_BLOCK, message.block_hash),)))
        else:
            self._requests.remove(message.block_hash, now_us, peer)

    @staticmethod
    def _log_filled(block: Block, requested: int) -> None:
        logger.debug(
            "Successfully reconstructed block %s with %d transactions, %d requested",
            hash_to_hex(block.hash),
            len(block.txs),
            requested,
        )

    # --- blocks for others ------------------------------------------------------------------------------------------

    async def get_block_txn(self, peer: Peer, payload: bytes) -> None:
        """Answer with transactions of a recent block; of an older one with the whole block, which costs the peer more."""
        request = GetBlockTxn.parse(payload)
        entry = self._manager.lookup(request.block_hash)
        if entry is None or not entry.has_data:
            net_logger.debug("Peer %d sent us a getblocktxn for a block we don't have", peer.id)
            return
        block = self._recent.get(entry)
        if block is None:
            raise DecodeError(f"block {hash_to_hex(entry.hash)} can't be read")
        if entry.height < self._manager.tip.height - MAX_BLOCKTXN_DEPTH and self._recent.hash != entry.hash:
            net_logger.debug("Peer %d sent us a getblocktxn for a block > %d deep", peer.id, MAX_BLOCKTXN_DEPTH)
            peer.send(BlockMessage(block))
            return
        if any(index >= len(block.txs) for index in request.indexes):
            peer.misbehaving("getblocktxn with out-of-bounds tx indices")
            return
        peer.send(BlockTxn(entry.hash, tuple([block.txs[index] for index in request.indexes])))
