"""Compact block filters for others (BIP157).

Owns: which filters a peer may ask for, and the answers. Never: making filters.
Source: BIP157; Bitcoin Core's net_processing.cpp for what ends a connection.
"""

import logging
from collections.abc import Callable

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.indexes.filter_records import find_filters, find_headers
from clarion.node.net.context import NetContext
from clarion.node.net.messages.filters import (
    CFCheckpt,
    CFHeaders,
    CFilter,
    GetCFCheckpt,
    GetCFHeaders,
    GetCFilters,
)
from clarion.node.net.peer import Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import ServiceFlags
from clarion.node.primitives.block_filter import BASIC_FILTER
from clarion.node.primitives.ids import NULL_HASH, BlockHash, hash_to_hex

MAX_FILTERS = 1000
MAX_FILTER_HEADERS = 2000
CHECKPOINT_INTERVAL = 1000

logger = logging.getLogger("clarion.net")


class FilterServing:
    """Answers getcfilters, getcfheaders and getcfcheckpt, where -peerblockfilters allows it."""

    def __init__(self, context: NetContext, peers: PeerManager, may_have: Callable[[BlockIndexEntry], bool]) -> None:
        """`may_have` says whether peers may know that we have a block."""
        self._context = context
        self._may_have = may_have
        peers.register("getcfilters", self._get_filters)
        peers.register("getcfheaders", self._get_headers)
        peers.register("getcfcheckpt", self._get_checkpoints)

    async def _get_filters(self, peer: Peer, payload: bytes) -> None:
        message = GetCFilters.parse(payload)
        blocks = self._blocks(peer, message.filter_type, message.start_height, message.stop_hash, MAX_FILTERS)
        filters = self._context.filters
        if not blocks or filters is None:
            return
        with filters.snapshot() as view:
            found = find_filters(view, blocks)
        if found is None:
            self._log_missing("block filter", message.stop_hash)
            return
        for (_, block_hash), encoded in zip(blocks, found, strict=True):
            await peer.drain()
            peer.send(CFilter(BASIC_FILTER, BlockHash(block_hash), encoded))

    async def _get_headers(self, peer: Peer, payload: bytes) -> None:
        message = GetCFHeaders.parse(payload)
        blocks = self._blocks(peer, message.filter_type, message.start_height, message.stop_hash, MAX_FILTER_HEADERS)
        filters = self._context.filters
        if not blocks or filters is None:
            return
        before = self._block_before(message.stop_hash, message.start_height)
        with filters.snapshot() as view:
            found = find_headers(view, before + blocks)
        if found is None:
            self._log_missing("block filter hashes", message.stop_hash)
            return
        previous = found[0].header if before else NULL_HASH
        hashes = tuple(each.filter_hash for each in found[len(before) :])
        peer.send(CFHeaders(BASIC_FILTER, message.stop_hash, previous, hashes))

    async def _get_checkpoints(self, peer: Peer, payload: bytes) -> None:
        message = GetCFCheckpt.parse(payload)
        stop = self._stop_block(peer, message.filter_type, message.stop_hash)
        filters = self._context.filters
        if stop is None or filters is None:
            return
        heights = range(CHECKPOINT_INTERVAL, stop.height + 1, CHECKPOINT_INTERVAL)
        with filters.snapshot() as view:
            found = find_headers(view, self._ancestors(stop, heights))
        if found is None:
            self._log_missing("block filter header", message.stop_hash)
            return
        peer.send(CFCheckpt(BASIC_FILTER, message.stop_hash, tuple(each.header for each in found)))

    def _stop_block(self, peer: Peer, filter_type: int, stop_hash: BlockHash) -> BlockIndexEntry | None:
        """Return the last block of a request; None, and the peer is left, if it may not ask for that."""
        if filter_type != BASIC_FILTER or not peer.our_services & ServiceFlags.COMPACT_FILTERS:
            peer.disconnect(f"peer requested unsupported block filter type: {filter_type}")
            return None
        stop = self._context.chain.manager.lookup(stop_hash)
        if stop is None or not self._may_have(stop):
            peer.disconnect(f"peer requested invalid block hash: {hash_to_hex(stop_hash)}")
            return None
        return stop

    def _blocks(
        self, peer: Peer, filter_type: int, start: int, stop_hash: BlockHash, limit: int
    ) -> list[tuple[int, bytes]]:
        """Return height and hash of the blocks of a request; none, and the peer is left, if it may not ask for that."""
        stop = self._stop_block(peer, filter_type, stop_hash)
        if stop is None:
            return []
        if start > stop.height:
            peer.disconnect(
                f"peer sent invalid getcfilters/getcfheaders with start height {start} and stop height {stop.height}"
            )
            return []
        if stop.height - start >= limit:
            peer.disconnect(f"peer requested too many cfilters/cfheaders: {stop.height - start + 1} / {limit}")
            return []
        return self._ancestors(stop, range(start, stop.height + 1))

    def _block_before(self, stop_hash: BlockHash, start: int) -> list[tuple[int, bytes]]:
        stop = self._context.chain.manager.lookup(stop_hash)
        return [] if stop is None or not start else self._ancestors(stop, range(start - 1, start))

    def _ancestors(self, stop: BlockIndexEntry, heights: range) -> list[tuple[int, bytes]]:
        found = []
        with self._context.chain.manager.state.lock:
            at: BlockIndexEntry | None = stop
            for height in reversed(heights):
                assert at is not None
                at = at.ancestor(height)
                assert at is not None
                found.append((height, bytes(at.hash)))
        return found[::-1]

    def _log_missing(self, what: str, stop_hash: BlockHash) -> None:
        logger.debug("Failed to find %s in index: stop_hash=%s", what, hash_to_hex(stop_hash))
