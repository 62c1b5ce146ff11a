"""Headers first: asking for them, taking them in, and what they make us fetch.

Owns: getheaders, headers, and inventory about blocks. Never: fetching in the background (see `download`).
Source: Bitcoin Core's net_processing.cpp; BIP130.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.consensus.pow import block_proof, check_proof_of_work
from clarion.node.errors import BlockInvalid
from clarion.node.net.clock import MINUTE_US
from clarion.node.net.context import NetContext
from clarion.node.net.messages.blocks import GetHeaders, Headers
from clarion.node.net.messages.inventory import GetData, Inv
from clarion.node.net.peer import Peer
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import (
    ITEMS_AT_A_TIME,
    MAX_BLOCKS_IN_TRANSIT_PER_PEER,
    MAX_HEADERS_RESULTS,
    InvType,
)
from clarion.node.net.sync.availability import note_block
from clarion.node.net.sync.presync import HeaderPresync, Phase, Step
from clarion.node.net.sync.punishment import punish_for_block
from clarion.node.net.sync.requests import BlockRequests
from clarion.node.net.sync.state import SyncState, can_serve_witnesses
from clarion.node.primitives.block import BlockHeader
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage import block_status

HEADERS_RESPONSE_US = 2 * MINUTE_US
NEAR_TIP_BLOCKS = 144
"""Headers whose chain has nearly the work of ours are taken without proof of more."""

logger = logging.getLogger("clarion.net")


class HeaderSync:
    """Takes headers from peers and asks for more."""

    def __init__(self, context: NetContext, requests: BlockRequests) -> None:
        self._context = context
        self._requests = requests
        self._manager = context.chain.manager
        self.deciding = 0
        """How many headers are being looked at whose blocks may be asked of those who brought them."""
        self._asked_for: BlockHash | None = None
        """The last announced block because of which a peer was asked that we do not sync from."""

    def locator(self, entry: BlockIndexEntry) -> tuple[BlockHash, ...]:
        """Return the way from `entry` to genesis: ten single steps, then twice as far each time."""
        hashes = []
        step = 1
        at: BlockIndexEntry | None = entry
        while at is not None:
            hashes.append(at.hash)
            if at.height == 0:
                break
            if len(hashes) > 10:
                step *= 2
            at = at.ancestor(max(at.height - step, 0))
        return tuple(hashes)

    def best_header(self) -> BlockIndexEntry:
        """Return the header with most work."""
        return self._manager.state.best_header or self._manager.tip

    def request(self, peer: Peer, start: BlockIndexEntry) -> bool:
        """Ask for headers behind `start`, unless an answer is still to come; whether that was done."""
        state = peer.state(SyncState)
        now_us = self._context.clock.now_us()
        if now_us - state.last_getheaders_us <= HEADERS_RESPONSE_US:
            return False
        peer.send(GetHeaders(self.locator(start)))
        state.last_getheaders_us = now_us
        return True

    async def handle(self, peer: Peer, payload: bytes) -> None:
        """Handle a `headers` message."""
        count = Headers.count_of(payload)
        if count > MAX_HEADERS_RESULTS:
            peer.misbehaving(f"headers message size = {count}")
            return
        await self.process(peer, Headers.parse(payload).headers)

    @contextmanager
    def first_choice(self) -> Iterator[None]:
        """Until this is over nobody else is asked for blocks: whoever brings a header is the first to be asked."""
        self.deciding += 1
        try:
            yield
        finally:
            self.deciding -= 1

    async def process(self, peer: Peer, headers: Sequence[BlockHeader], *, via_compact_block: bool = False) -> None:
        """Take headers in, however they came, and fetch their blocks if they lead to a better tip."""
        with self.first_choice():
            await self._process(peer, headers, via_compact_block=via_compact_block)

    async def _process(self, peer: Peer, headers: Sequence[BlockHeader], *, via_compact_block: bool) -> None:
        state = peer.state(SyncState)
        if not headers:
            # Nothing more to say: it may have changed to our chain.
            state.presync = None
            state.last_getheaders_us = 0
            return
        full = len(headers) == MAX_HEADERS_RESULTS
        if not self._are_plausible(peer, headers):
            return
        proved = False
        if state.presync is not None:
            step = self._continue_presync(peer, headers, full=full)
            proved = step.valid
            if step.valid:
                headers = step.headers
                if not headers:
                    return
        in_presync = state.presync is not None
        start = self._manager.lookup(headers[0].prev_hash)
        if start is None:
            self._handle_unconnecting(peer, headers)
            return
        state.last_getheaders_us = 0
        last = self._manager.lookup(headers[-1].hash)
        trusted = proved or peer.may(Permission.NO_BAN) or (last is not None and self._is_on_best_chains(last))
        if not trusted and not self._has_work(start, headers):
            self._handle_low_work(peer, start, headers, full=full)
            return
        entry = await self.accept(peer, headers, via_compact_block=via_compact_block)
        if entry is None:
            return
        if full and not in_presync and self.request(peer, entry):
            logger.debug("more getheaders (%d) to end to peer=%d", entry.height, peer.id)
        self._note_headers(peer, entry, is_new=last is None, full=full)
        self.fetch_directly(peer, entry)

    async def accept(
        self, peer: Peer, headers: Sequence[BlockHeader], *, via_compact_block: bool
    ) -> BlockIndexEntry | None:
        """Have headers checked and return the last one's entry, None if they are the peer's fault."""
        future = self._context.chain.submit(self._manager.process_new_headers, list(headers))
        try:
            return await asyncio.wrap_future(future)
        except BlockInvalid as invalid:
            punish_for_block(peer, invalid, via_compact_block=via_compact_block, what="invalid header received")
            return None

    def _are_plausible(self, peer: Peer, headers: Sequence[BlockHeader]) -> bool:
        if not all(check_proof_of_work(header.hash, header.bits, self._context.params) for header in headers):
            peer.misbehaving("header with invalid proof of work")
            return False
        if any(header.prev_hash != before.hash for before, header in pairwise(headers)):
            peer.misbehaving("non-continuous headers sequence")
            return False
        return True

    def _handle_unconnecting(self, peer: Peer, headers: Sequence[BlockHeader]) -> None:
        """A block may have been announced before its parent reached us: ask for what lies between."""
        best = self.best_header()
        if self.request(peer, best):
            logger.debug(
                "received header %s: missing prev block %s, sending getheaders (%d) to end (peer=%d)",
                hash_to_hex(headers[0].hash),
                hash_to_hex(headers[0].prev_hash),
                best.height,
                peer.id,
            )
        note_block(self._manager, peer.state(SyncState), headers[-1].hash)

    def _handle_low_work(
        self, peer: Peer, start: BlockIndexEntry, headers: Sequence[BlockHeader], *, full: bool
    ) -> None:
        """A chain with too little work is only followed to its end, without keeping it, if it may become better."""
        if not full:
            logger.debug("Ignoring low-work chain (height=%d) from peer=%d", start.height + len(headers), peer.id)
            return
        now = self._context.clock.now()
        state = peer.state(SyncState)
        state.presync = HeaderPresync(peer.id, self._context.params, start, self.work_threshold(), now)
        self._continue_presync(peer, headers, full=full)

    def _continue_presync(self, peer: Peer, headers: Sequence[BlockHeader], *, full: bool) -> Step:
        state = peer.state(SyncState)
        presync = state.presync
        assert presync is not None
        step = presync.process(headers, full=full)
        if step.valid:
            state.last_getheaders_us = 0
        if step.more:
            peer.send(GetHeaders((presync.locator_start, *self.locator(presync.start))))
            state.last_getheaders_us = self._context.clock.now_us()
            logger.debug("more getheaders (from %s) to peer=%d", hash_to_hex(presync.locator_start), peer.id)
        if presync.phase is Phase.OVER:
            state.presync = None
        return step

    def _is_on_best_chains(self, entry: BlockIndexEntry) -> bool:
        return any(chain.ancestor(entry.height) is entry for chain in (self.best_header(), self._manager.tip))

    def _has_work(self, start: BlockIndexEntry, headers: Sequence[BlockHeader]) -> bool:
        work = start.chainwork + sum([block_proof(header.bits) for header in headers])
        return work >= self.work_threshold()

    def work_threshold(self) -> int:
        """Return the work that a chain must claim before its headers take memory."""
        tip = self._manager.tip
        near = tip.chainwork - min(NEAR_TIP_BLOCKS * block_proof(tip.bits), tip.chainwork)
        return max(near, self._manager.state.options.minimum_chainwork)

    def _note_headers(self, peer: Peer, entry: BlockIndexEntry, *, is_new: bool, full: bool) -> None:
        state = peer.state(SyncState)
        note_block(self._manager, state, entry.hash)
        if is_new and self._manager.initial_download and entry is self.best_header():
            left = max((self._context.clock.now() - entry.time) // self._context.params.pow_target_spacing, 0)
            progress = 100 * entry.height / (entry.height + left)
            logger.info("Synchronizing blockheaders, height: %d (~%.2f%%)", entry.height, progress)
        if is_new:
            self.note_announcement(state, entry)
        least = self._manager.state.options.minimum_chainwork
        if (
            self._manager.initial_download
            and not full
            and state.best_known is not None
            and state.best_known.chainwork < least
            and peer.is_automatic_outbound
        ):
            peer.disconnect("outbound peer headers chain has insufficient work")
        self.on_headers(peer)

    on_headers: Callable[[Peer], None] = staticmethod(lambda peer: None)
    """Called when a peer's headers have been taken in."""

    def note_announcement(self, state: SyncState, entry: BlockIndexEntry) -> None:
        """Take note of a new header that a peer brought, if it leads beyond our tip."""
        if entry.chainwork > self._manager.tip.chainwork:
            state.last_announcement = self._context.clock.now()

    def can_fetch_directly(self) -> bool:
        """Whether we are nearly at the tip, so that single blocks are fetched as they are announced."""
        age = self._context.clock.now() - self._manager.tip.time
        return age < 20 * self._context.params.pow_target_spacing

    def fetch_directly(self, peer: Peer, last: BlockIndexEntry) -> None:
        """Fetch the blocks up to `last` at once if it is better than our tip and not far away."""
        manager = self._manager
        if not self.can_fetch_directly() or not last.is_valid(block_status.VALID_TREE):
            return
        if manager.tip.chainwork > last.chainwork:
            return
        view = manager.view
        wanted: list[BlockIndexEntry] = []
        at: BlockIndexEntry | None = last
        while at is not None and at not in view and len(wanted) <= MAX_BLOCKS_IN_TRANSIT_PER_PEER:
            if not at.has_data and not self._requests.is_requested(at.hash) and can_serve_witnesses(peer):
                wanted.append(at)
            at = at.prev
        if at is None or at not in view:
            logger.debug("Large reorg, won't direct fetch to %s (%d)", hash_to_hex(last.hash), last.height)
            return
        self._send_requests(peer, wanted[::-1], last)

    def _send_requests(self, peer: Peer, wanted: Sequence[BlockIndexEntry], last: BlockIndexEntry) -> None:
        room = MAX_BLOCKS_IN_TRANSIT_PER_PEER - len(peer.state(SyncState).in_flight)
        items: list[Inv] = []
        now_us = self._context.clock.now_us()
        for entry in wanted[: max(room, 0)]:
            items.append(Inv(InvType.WITNESS_BLOCK, entry.hash))
            self._requests.add(peer, entry, now_us)
            logger.debug("Requesting block %s from peer=%d", hash_to_hex(entry.hash), peer.id)
        if len(items) > 1:
            logger.debug(
                "Downloading blocks toward %s (%d) via headers direct fetch", hash_to_hex(last.hash), last.height
            )
        if len(items) == 1 and len(self._requests) == 1 and self._may_be_compact(peer, last):
            items = [Inv(InvType.CMPCT_BLOCK, items[0].hash)]
        if items:
            peer.send(GetData(tuple(items)))

    def _may_be_compact(self, peer: Peer, entry: BlockIndexEntry) -> bool:
        """Whether the only block that we wait for is better asked for in its compact form."""
        return (
            not self._context.options.blocks_only
            and peer.state(SyncState).provides_compact
            and entry.prev is not None
            and entry.prev.is_valid(block_status.VALID_CHAIN)
        )

    async def handle_inventory(self, peer: Peer, hashes: Sequence[BlockHash]) -> None:
        """Take note of blocks that a peer announced by `inv`, and ask for the headers of the last new one."""
        last_new = None
        for number, block_hash in enumerate(hashes, 1):
            if number % ITEMS_AT_A_TIME == 0:
                await asyncio.sleep(0)
            note_block(self._manager, peer.state(SyncState), block_hash)
            known = self._manager.lookup(block_hash)
            logger.debug("got inv: block %s  %s peer=%d", hash_to_hex(block_hash), "have" if known else "new", peer.id)
            if known is None and not self._requests.is_requested(block_hash):
                last_new = block_hash
        if last_new is None:
            return
        # Before headers are synced with the peer, it gets one chance, and each new block brings one such peer in.
        state = peer.state(SyncState)
        if not state.sync_started and (state.inv_asked or last_new == self._asked_for):
            return
        best = self.best_header()
        if self.request(peer, best):
            logger.debug("getheaders (%d) %s to peer=%d", best.height, hash_to_hex(last_new), peer.id)
        if not state.sync_started:
            state.inv_asked = True
            self._asked_for = last_new

    def start(self, peer: Peer, now_us: int) -> None:
        """Begin to sync headers from a peer."""
        best = self.best_header()
        start = best.prev or best
        if not self.request(peer, start):
            return
        logger.debug("initial getheaders (%d) to peer=%d", start.height, peer.id)
        state = peer.state(SyncState)
        state.sync_started = True
        behind = self._context.clock.now() - best.time
        per_header_us = 1_000
        expected = behind // self._context.params.pow_target_spacing
        state.headers_timeout_us = now_us + 15 * MINUTE_US + per_header_us * max(expected, 0)
