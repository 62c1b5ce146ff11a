"""What peers have and want: inv, getdata and notfound, parted into blocks and transactions.

Owns: the limits, and who hears of what. Never: what is done with either.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence

from clarion.node.net.messages.inventory import GetData, Inv, InvMessage, NotFound
from clarion.node.net.peer import Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import BLOCK_TYPES, MAX_INV_SIZE, TX_TYPES, InvType
from clarion.node.net.sync.block_sync import BlockSync
from clarion.node.primitives.ids import BlockHash

logger = logging.getLogger("clarion.net")


class Inventory:
    """Hands inventory on. Who cares for transactions sets the hooks."""

    def __init__(self, peers: PeerManager, sync: BlockSync) -> None:
        self._sync = sync
        self.on_transactions: Callable[[Peer, Sequence[Inv]], Awaitable[None]] | None = None
        """Called with the transactions that a peer announces."""
        self.on_wanted_transactions: Callable[[Peer, Sequence[Inv]], list[Inv]] | None = None
        """Called with the transactions that a peer wants; returns those that we don't have."""
        self.on_missing: Callable[[Peer, Sequence[Inv]], None] = lambda peer, items: None
        """Called with what a peer does not have."""
        peers.register("inv", self._inv)
        peers.register("getdata", self._get_data)
        peers.register("notfound", self._not_found)

    async def _inv(self, peer: Peer, payload: bytes) -> None:
        items = InvMessage.parse(payload).items
        if len(items) > MAX_INV_SIZE:
            peer.misbehaving(f"inv message size = {len(items)}")
            return
        blocks = [BlockHash(item.hash) for item in items if item.type == InvType.BLOCK]
        if blocks:
            await self._sync.headers.handle_inventory(peer, blocks)
        txs = [item for item in items if item.type in TX_TYPES]
        if txs and self.on_transactions is not None:
            await self.on_transactions(peer, txs)

    async def _get_data(self, peer: Peer, payload: bytes) -> None:
        items = GetData.parse(payload).items
        if len(items) > MAX_INV_SIZE:
            peer.misbehaving(f"getdata message size = {len(items)}")
            return
        logger.debug("received getdata (%d invsz) peer=%d", len(items), peer.id)
        txs = [item for item in items if item.type in TX_TYPES]
        missing = txs if self.on_wanted_transactions is None else self.on_wanted_transactions(peer, txs)
        for item in items:
            if item.type in BLOCK_TYPES and not peer.leaving:
                self._sync.serving.send_block(peer, item)
        if missing:
            peer.send(NotFound(tuple(missing)))

    async def _not_found(self, peer: Peer, payload: bytes) -> None:
        self.on_missing(peer, NotFound.parse(payload).items)
