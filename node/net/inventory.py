"""What peers have and want: inv, getdata and notfound, parted into blocks and transactions.

Owns: the limits, and who hears of what. Never: what is done with either.
"""

import asyncio
import logging
from collections.abc import Sequence

from clarion.node.net.clock import NetClock
from clarion.node.net.messages.inventory import GetData, Inv, InvMessage, NotFound
from clarion.node.net.peer import Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import (
    BLOCK_TYPES,
    ITEMS_AT_A_TIME,
    MAX_BLOCKS_IN_TRANSIT_PER_PEER,
    MAX_INV_SIZE,
    TX_TYPES,
    InvType,
)
from clarion.node.net.relay.download import MAX_ANNOUNCEMENTS
from clarion.node.net.relay.transaction_relay import TransactionRelay
from clarion.node.net.sync.block_sync import BlockSync
from clarion.node.primitives.ids import BlockHash

logger = logging.getLogger("clarion.net")


class Inventory:
    """Hands inventory on."""

    def __init__(self, peers: PeerManager, clock: NetClock, sync: BlockSync, relay: TransactionRelay) -> None:
        self._clock = clock
        self._sync = sync
        self._relay = relay
        peers.register("inv", self._inv)
        peers.register("getdata", self._get_data)
        peers.register("notfound", self._not_found)

    async def _inv(self, peer: Peer, payload: bytes) -> None:
        items = InvMessage.parse(payload).items
        if len(items) > MAX_INV_SIZE:
            peer.misbehaving(f"inv message size = {len(items)}")
            return
        now_us = self._clock.now_us()
        # Hashes of the other kind than was agreed on are ignored (BIP339).
        ignored = InvType.TX if peer.wtxid_relay else InvType.WTX
        blocks = []
        for number, item in enumerate(items, 1):
            if number % ITEMS_AT_A_TIME == 0:
                await asyncio.sleep(0)
            if item.type == InvType.BLOCK:
                blocks.append(BlockHash(item.hash))
            elif item.type in TX_TYPES:
                if item.type != ignored and not self._relay.announced(peer, item, now_us):
                    return
            else:
                logger.debug('Unknown inv type "%s" received from peer=%d', item, peer.id)
        if blocks:
            await self._sync.headers.handle_inventory(peer, blocks)

    async def _get_data(self, peer: Peer, payload: bytes) -> None:
        items = GetData.parse(payload).items
        if len(items) > MAX_INV_SIZE:
            peer.misbehaving(f"getdata message size = {len(items)}")
            return
        logger.debug("received getdata (%d invsz) peer=%d", len(items), peer.id)
        if items:
            logger.debug("received getdata for: %s peer=%d", items[0], peer.id)
        await self._answer(peer, items)

    async def _answer(self, peer: Peer, items: Sequence[Inv]) -> None:
        """Answer in the order of the items; what is missing is told before each block and at the end."""
        missing: list[Inv] = []
        for number, item in enumerate(items, 1):
            if number % ITEMS_AT_A_TIME == 0:
                await asyncio.sleep(0)
            if peer.leaving:
                return
            if item.type in TX_TYPES:
                if not self._relay.serving.send(peer, item):
                    missing.append(item)
            else:
                if item.type in BLOCK_TYPES:
                    self._sync.serving.send_block(peer, item)
                self._tell_missing(peer, missing)
            # While it does not read what it gets, it gets no more.
            await peer.drain()
        self._tell_missing(peer, missing)

    def _tell_missing(self, peer: Peer, missing: list[Inv]) -> None:
        if missing:
            peer.send(NotFound(tuple(missing)))
            missing.clear()

    async def _not_found(self, peer: Peer, payload: bytes) -> None:
        items = NotFound.parse(payload).items
        if len(items) <= MAX_ANNOUNCEMENTS + MAX_BLOCKS_IN_TRANSIT_PER_PEER:
            self._relay.download.not_found(peer.id, [item.hash for item in items if item.type in TX_TYPES])
