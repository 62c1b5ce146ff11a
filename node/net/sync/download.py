"""Fetching blocks: which, from whom, how many at once, and what to do with those that come.

Owns: the moving window, stalls and timeouts. Never: headers, validation.
Source: Bitcoin Core's net_processing.cpp (FindNextBlocksToDownload, SendMessages).
"""

import asyncio
import logging
from collections.abc import Callable

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.state import FAR_BEHIND_BLOCKS
from clarion.node.consensus.deployments import buried_active_after
from clarion.node.consensus.pow import block_proof
from clarion.node.consensus.witness import find_mutation
from clarion.node.errors import BlockInvalid, StorageError
from clarion.node.net.clock import SECOND_US
from clarion.node.net.context import NetContext
from clarion.node.net.messages.blocks import BlockMessage
from clarion.node.net.messages.inventory import GetData, Inv
from clarion.node.net.peer import Peer
from clarion.node.net.protocol import MAX_BLOCKS_IN_TRANSIT_PER_PEER, InvType
from clarion.node.net.sync.availability import last_common_ancestor, update_availability
from clarion.node.net.sync.headers import HeaderSync
from clarion.node.net.sync.punishment import punish_for_block
from clarion.node.net.sync.recent_blocks import RecentBlocks
from clarion.node.net.sync.requests import BlockRequests
from clarion.node.net.sync.state import SyncState, can_serve_witnesses, is_limited
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage import block_status

BLOCK_DOWNLOAD_WINDOW = 1024
"""How far beyond the last block that all have in common blocks are fetched."""
WALK_BLOCKS = 2 * MAX_BLOCKS_IN_TRANSIT_PER_PEER
"""So many are looked at together: mostly what the peer owes us already, and what it is asked for next."""
LIMITED_PEER_BLOCKS = 288
STALLING_TIMEOUT_US = 2 * SECOND_US
MAX_STALLING_TIMEOUT_US = 64 * SECOND_US
MAX_SOURCES = 10_000
MAX_PENDING_BYTES = 32_000_000
"""Of the blocks of one peer so many bytes may be in work where many are to come."""

logger = logging.getLogger("clarion.net")


class BlockDownload:
    """Fetches what the headers promise."""

    def __init__(
        self,
        context: NetContext,
        requests: BlockRequests,
        headers: HeaderSync,
        recent: RecentBlocks,
        judge: Callable[[Peer], None],
    ) -> None:
        """`judge` is called for a peer whose block turned out bad while none of its messages was handled."""
        self._judge = judge
        self._context = context
        self._requests = requests
        self._headers = headers
        self._recent = recent
        self._manager = context.chain.manager
        self._stalling_timeout_us = STALLING_TIMEOUT_US
        self._history_height = 0
        """Up to here no block is missing below a snapshot."""
        self._sources: dict[BlockHash, tuple[Peer, bool]] = {}
        """Who sent a block that is not fully checked yet, and whether its contents are the sender's fault."""

    # --- blocks that come -------------------------------------------------------------------------------------------

    on_good_block: Callable[[Peer], None] = staticmethod(lambda peer: None)
    """Called with whoever was the first to send a good block at the tip."""

    async def handle(self, peer: Peer, payload: bytes) -> None:
        """Handle a `block` message."""
        if self._manager.state.importing:
            logger.debug("Unexpected block message received from peer %d", peer.id)
            return
        await self.process(peer, BlockMessage.parse(payload).block)

    async def process(self, peer: Peer, block: Block, *, via_compact_block: bool = False) -> None:
        """Have a block checked and, if it is good, connected.

        Where many blocks are to come this does not wait for the result, so that the next are at hand; `settle` does.
        """
        block_hash = block.hash
        logger.debug("received block %s peer=%d", hash_to_hex(block_hash), peer.id)
        parent = self._manager.lookup(block.header.prev_hash)
        if parent is not None and self._is_mutated(peer, block, parent):
            self._requests.remove(block_hash, self._context.clock.now_us(), peer)
            return
        self._recent.keep(block)
        self._note_source(block_hash, peer, not via_compact_block)
        work = 0 if parent is None else parent.chainwork + block_proof(block.header.bits)
        requested = self._requests.is_requested(block_hash)
        state = peer.state(SyncState)
        # Who sends what nobody asked for waits: his blocks must not pile up.
        ahead = block_hash in state.in_flight and self._catches_up()
        if self._manager.initial_download or ahead:
            # Commits come in batches there: the peer must not wait for them before it is asked for more.
            self._requests.begin_work(block_hash, peer, self._context.clock.now_us())
        # Else the request stays until the block is stored, so that nobody else is asked for it meanwhile.
        future = self._context.chain.submit(
            self._manager.process_new_block,
            block,
            force=requested or via_compact_block,
            min_pow_checked=via_compact_block or (parent is not None and work >= self._headers.work_threshold()),
        )
        size = len(block.raw)
        state.pending.append(
            (asyncio.ensure_future(self._conclude(peer, block_hash, asyncio.wrap_future(future))), size)
        )
        state.pending_bytes += size
        most = MAX_PENDING_BYTES if ahead else 0
        while state.pending_bytes > most:
            await self._settle_one(state)

    def _catches_up(self) -> bool:
        """Whether we are in initial download, or so far behind the best header that no single block matters."""
        best, tip = self._headers.best_header(), self._manager.tip
        return self._manager.initial_download or (
            best.height - last_common_ancestor(best, tip).height > FAR_BEHIND_BLOCKS
        )

    async def settle(self, peer: Peer, command: str) -> None:
        """Wait for the peer's blocks before anything else of it is handled: answers come in order."""
        state = peer.state(SyncState)
        if command != "block":
            while state.pending:
                await self._settle_one(state)

    @staticmethod
    async def _settle_one(state: SyncState) -> None:
        task, size = state.pending.popleft()
        state.pending_bytes -= size
        await task

    async def _conclude(self, peer: Peer, block_hash: BlockHash, future: "asyncio.Future[BlockOutcome]") -> None:
        try:
            outcome = await future
        except StorageError as error:
            logger.error("block %s is lost: %s", hash_to_hex(block_hash), error)
            return
        finally:
            self._requests.end_work(block_hash)
        now_us = self._context.clock.now_us()
        if outcome.new:
            peer.last_block = self._context.clock.now()
        self._requests.remove(block_hash, now_us, None if outcome.new else peer)
        if outcome.invalid is not None:
            self.block_failed(block_hash, outcome.invalid)
        elif outcome.checked or not outcome.new:
            self._sources.pop(block_hash, None)
            if outcome.checked and not self._manager.initial_download and not len(self._requests):
                self.on_good_block(peer)

    def _is_mutated(self, peer: Peer, block: Block, parent: BlockIndexEntry) -> bool:
        mutation = find_mutation(block, buried_active_after(parent, self._context.params, "segwit"))
        if mutation is None:
            return False
        logging.getLogger("clarion.validation").debug("Block mutated: %s", mutation)
        logger.debug("Received mutated block from peer=%d", peer.id)
        peer.misbehaving("mutated block")
        return True

    def _note_source(self, block_hash: BlockHash, peer: Peer, responsible: bool) -> None:
        if len(self._sources) >= MAX_SOURCES:
            del self._sources[next(iter(self._sources))]
        self._sources.setdefault(block_hash, (peer, responsible))

    def block_failed(self, block_hash: BlockHash, invalid: BlockInvalid) -> None:
        """Hold whoever sent a block responsible for what was found when it was checked."""
        source = self._sources.pop(block_hash, None)
        if source is not None and not source[0].leaving:
            punish_for_block(source[0], invalid, via_compact_block=not source[1], what=str(invalid))
            self._judge(source[0])

    # --- blocks that are wanted -------------------------------------------------------------------------------------

    def request_more(self, peer: Peer, now_us: int) -> None:
        """Ask a peer for as many blocks as it may owe us at a time."""
        state = peer.state(SyncState)
        room = MAX_BLOCKS_IN_TRANSIT_PER_PEER - len(state.in_flight)
        if room <= 0:
            return
        wanted, staller = self._next_blocks(peer, room)
        if len(wanted) < room:
            wanted += self._historical_blocks(peer, room - len(wanted))
        for entry in wanted:
            self._requests.add(peer, entry, now_us)
            logger.debug("Requesting block %s (%d) peer=%d", hash_to_hex(entry.hash), entry.height, peer.id)
        if wanted:
            peer.send(GetData(tuple([Inv(InvType.WITNESS_BLOCK, entry.hash) for entry in wanted])))
        if not state.in_flight and staller is not None and not staller.state(SyncState).stalling_since_us:
            staller.state(SyncState).stalling_since_us = now_us
            logger.debug("Stall started peer=%d", staller.id)

    def request_from(self, peer: Peer, entry: BlockIndexEntry) -> None:
        """Ask a peer for one block that the operator wants of it; whoever was asked before is not waited for."""
        now_us = self._context.clock.now_us()
        self._requests.remove(entry.hash, now_us)
        self._requests.add(peer, entry, now_us)
        peer.send(GetData((Inv(InvType.WITNESS_BLOCK, entry.hash),)))
        logger.debug("Requesting block %s from peer=%d", hash_to_hex(entry.hash), peer.id)

    def _next_blocks(self, peer: Peer, count: int) -> tuple[list[BlockIndexEntry], Peer | None]:
        """Return blocks to ask for, and the peer that keeps the window from moving if there are none."""
        state = peer.state(SyncState)
        manager = self._manager
        update_availability(manager, state)
        best, tip = state.best_known, manager.tip
        if best is None or best.chainwork < tip.chainwork or best.chainwork < manager.state.options.minimum_chainwork:
            return [], None
        base = manager.state.snapshot_base
        if base is not None and not best.descends_from(base):
            # Nothing at or below the block of a snapshot can be undone until the history is validated.
            return [], None
        fork = last_common_ancestor(best, tip)
        common = state.last_common
        if common is None or fork.chainwork > common.chainwork or best.ancestor(common.height) is not common:
            state.last_common = common = fork
        if common is best:
            return [], None
        return self._walk_window(peer, state, common, best, count)

    def _historical_blocks(self, peer: Peer, count: int) -> list[BlockIndexEntry]:
        """Return blocks to ask for below a snapshot, whose history is validated behind everything else."""
        best, manager = peer.state(SyncState).best_known, self._manager
        with manager.state.lock:
            base, reached = manager.state.snapshot_base, manager.state.validated_tip
        if base is None or reached is None or best is None or not best.descends_from(base):
            return []
        if not can_serve_witnesses(peer):
            return []
        start = last_common_ancestor(reached, base).height
        window_end = min(base.height, start + BLOCK_DOWNLOAD_WINDOW)
        wanted: list[BlockIndexEntry] = []
        walked = self._history_height = max(start, self._history_height)
        while walked < window_end and len(wanted) < count:
            for entry in _path(base, walked, min(window_end - walked, 128)):
                if entry.has_data and entry.height == self._history_height + 1:
                    self._history_height = entry.height
                limited = is_limited(peer) and best.height - entry.height >= LIMITED_PEER_BLOCKS - 2
                if not entry.has_data and not limited and not self._requests.is_requested(entry.hash):
                    wanted.append(entry)
            walked = min(walked + 128, window_end)
        return wanted[:count]

    def _walk_window(
        self, peer: Peer, state: SyncState, common: BlockIndexEntry, best: BlockIndexEntry, count: int
    ) -> tuple[list[BlockIndexEntry], Peer | None]:
        view = self._manager.view
        window_end = common.height + BLOCK_DOWNLOAD_WINDOW
        highest = min(best.height, window_end + 1)
        wanted: list[BlockIndexEntry] = []
        waiting_for: Peer | None = None
        moves = False
        """Nobody keeps the window from moving: it is about to."""
        walked = common
        while walked.height < highest:
            for entry in _path(best, walked.height, min(highest - walked.height, WALK_BLOCKS)):
                walked = entry
                if not entry.is_valid(block_status.VALID_TREE) or not can_serve_witnesses(peer):
                    return wanted, None
                if entry.has_data or entry in view:
                    if entry.chain_tx_count:
                        # The next window begins here.
                        state.last_common, moves = entry, True
                elif self._requests.is_in_work(entry.hash):
                    moves = True
                elif self._requests.is_requested(entry.hash):
                    waiting_for = waiting_for or self._requests.first_peer(entry.hash)
                elif entry.height > window_end:
                    # Nothing can be fetched because of the block that somebody owes us.
                    stalls = not wanted and not moves and waiting_for is not peer
                    return wanted, waiting_for if stalls else None
                elif not (is_limited(peer) and best.height - entry.height >= LIMITED_PEER_BLOCKS - 2):
                    wanted.append(entry)
                    if len(wanted) == count:
                        return wanted, None
        return wanted, None

    # --- patience ---------------------------------------------------------------------------------------------------

    def check_patience(self, peer: Peer, now_us: int) -> None:
        """Leave a peer that keeps everybody waiting."""
        state = peer.state(SyncState)
        if state.stalling_since_us and state.stalling_since_us < now_us - self._stalling_timeout_us:
            logger.info("Peer is stalling block download, %s", peer.disconnecting)
            peer.disconnect()
            self._be_more_patient()
            return
        if not state.in_flight:
            return
        others = self._requests.downloading_from - 1
        limit_us = self._context.params.pow_target_spacing * SECOND_US * (2 + others) // 2
        if now_us > state.downloading_since_us + limit_us:
            block_hash = next(iter(state.in_flight))
            logger.info("Timeout downloading block %s, %s", hash_to_hex(block_hash), peer.disconnecting)
            peer.disconnect()

    def _be_more_patient(self) -> None:
        longer = min(2 * self._stalling_timeout_us, MAX_STALLING_TIMEOUT_US)
        if longer != self._stalling_timeout_us:
            self._stalling_timeout_us = longer
            logger.debug("Increased stalling timeout temporarily to %d seconds", longer // SECOND_US)

    def block_connected(self) -> None:
        """Lower the patience again step by step while blocks come in."""
        shorter = max(self._stalling_timeout_us * 85 // 100, STALLING_TIMEOUT_US)
        if shorter != self._stalling_timeout_us:
            self._stalling_timeout_us = shorter
            logger.debug("Decreased stalling timeout to %d seconds", shorter // SECOND_US)


def _path(best: BlockIndexEntry, height: int, count: int) -> list[BlockIndexEntry]:
    """Return `count` blocks above a height on the way to `best`, upwards."""
    at = best.ancestor(height + count)
    path = []
    while at is not None and at.height > height:
        path.append(at)
        at = at.prev
    return path[::-1]
