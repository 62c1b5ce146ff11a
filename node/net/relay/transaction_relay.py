"""The relay of transactions as a whole: what is done for a peer, and when.

Owns: the composition of this package, and the messages that only set a value. Never: the parts' rules.
"""

import logging
from collections.abc import Callable, Iterable

from clarion.node.consensus.constants import MAX_MONEY
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.orphanage import OrphanInfo
from clarion.node.net.context import NetContext
from clarion.node.net.messages.handshake import FeeFilter
from clarion.node.net.messages.inventory import GetData, Inv
from clarion.node.net.peer import Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import MSG_WITNESS_FLAG, InvType, ServiceFlags
from clarion.node.net.relay.announcements import TransactionAnnouncements
from clarion.node.net.relay.download import DownloadPeer, TransactionDownload
from clarion.node.net.relay.fee_filter import FeeFilterSender
from clarion.node.net.relay.reception import TransactionReception
from clarion.node.net.relay.request_tracker import GenTxid
from clarion.node.net.relay.serving import TransactionServing
from clarion.node.net.relay.state import RelayState
from clarion.node.net.sync.state import can_serve_witnesses, is_preferred
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import Txid, hash_to_hex

MAX_GETDATA_SIZE = 1000

logger = logging.getLogger("clarion.net")


class TransactionRelay:
    """Gets transactions from peers and gives ours to them."""

    def __init__(self, context: NetContext, peers: PeerManager, rejects: Callable[[Peer], bool]) -> None:
        """`rejects` says whether a peer may send no transactions at all."""
        self._context = context
        self._rejects = rejects
        pool = context.mempool.pool
        self.download = TransactionDownload(pool)
        self.announcements = TransactionAnnouncements(pool, peers)
        self.serving = TransactionServing(context.mempool)
        self.reception = TransactionReception(context, peers, self.download, self.announcements, rejects)
        self._fee_filter = FeeFilterSender(context)
        peers.register("tx", self.reception.handle)
        peers.register("mempool", self._mempool)
        peers.register("feefilter", self._feefilter)
        peers.on_ready.append(self._ready)
        peers.on_disconnected.append(lambda peer: self.download.disconnected(peer.id))
        peers.on_message_done.append(self._message_done)
        peers.ticks.append(self.send)

    # --- for the rest of the node, on the network thread --------------------------------------------------------------

    def announce(self, txids: Iterable[Txid]) -> None:
        """Queue those of these transactions that are in the pool, as they are there, for all peers."""
        for txid in txids:
            entry = self._context.mempool.pool.get(txid)
            if entry is not None:
                self.announcements.announce(txid, entry.wtxid)

    def rebroadcast(self) -> None:
        """Queue our own transactions that no peer has asked for yet."""
        # Copied at once, while no other thread of the interpreter runs.
        self.announce(tuple(self._context.mempool.pool.unbroadcast))

    def block_connected(self, block: Block) -> None:
        """Take note of a new block."""
        self.serving.note_block(block)
        self.download.block_connected(block)

    def block_disconnected(self) -> None:
        """Take note of a block that is not in the chain any more."""
        self.download.block_disconnected()

    def orphans(self) -> list[OrphanInfo]:
        """Return the transactions whose parents are unknown."""
        return self.download.orphans.orphans()

    # --- messages ---------------------------------------------------------------------------------------------------

    def announced(self, peer: Peer, item: Inv, now_us: int) -> bool:
        """Handle a transaction in a peer's `inv`; False if the peer is left for it."""
        if self._rejects(peer):
            peer.disconnect(f"transaction ({hash_to_hex(item.hash)}) inv sent in violation of protocol")
            return False
        if peer.relays_txs:
            peer.state(RelayState).known.add(item.hash)
        if not self._context.chain.manager.initial_download:
            known = self.download.announced(peer.id, GenTxid(item.hash, item.type == InvType.WTX), now_us)
            logger.debug("got inv: %s %s peer=%d", item, "have" if known else "new", peer.id)
        return True

    async def _mempool(self, peer: Peer, payload: bytes) -> None:
        trusted = peer.may(Permission.MEMPOOL)
        offered = bool(peer.our_services & ServiceFlags.BLOOM)
        if not trusted and (not offered or self._context.traffic.is_exhausted):
            if not peer.may(Permission.NO_BAN):
                why = "bandwidth limit reached" if offered else "bloom filters disabled"
                peer.disconnect(f"mempool request with {why}")
            return
        peer.state(RelayState).wants_mempool = True

    async def _feefilter(self, peer: Peer, payload: bytes) -> None:
        feerate_sat = FeeFilter.parse(payload).fee_rate
        if not 0 <= feerate_sat <= MAX_MONEY:
            return
        if peer.relays_txs:
            peer.state(RelayState).min_feerate_sat = feerate_sat
        logger.debug("received: feefilter of %s from peer=%d", FeeRate(feerate_sat), peer.id)

    # --- what is done for a peer ------------------------------------------------------------------------------------

    def _ready(self, peer: Peer) -> None:
        self.download.connected(peer.id, DownloadPeer(is_preferred(peer), peer.may(Permission.RELAY), peer.wtxid_relay))

    async def _message_done(self, peer: Peer) -> None:
        """Answer at once, and finish what a message began before the next one is handled."""
        if not peer.fully_connected or peer.leaving:
            return
        await self.reception.reconsider(peer)
        self.send(peer, self._context.clock.now_us())

    def send(self, peer: Peer, now_us: int) -> None:
        """Tell a peer what is due and ask it for what it has."""
        self.announcements.send(peer, now_us)
        tx_type = InvType.TX | (MSG_WITNESS_FLAG if can_serve_witnesses(peer) else 0)
        wanted = [
            Inv(InvType.WTX if each.by_wtxid else tx_type, each.hash)
            for each in self.download.to_request(peer.id, now_us)
        ]
        for at in range(0, len(wanted), MAX_GETDATA_SIZE):
            peer.send(GetData(tuple(wanted[at : at + MAX_GETDATA_SIZE])))
        self._fee_filter.send(peer, now_us)
