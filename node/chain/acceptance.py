"""Accepting headers and blocks into the tree, before any of them is connected.

Owns: what is checked and stored when a header or a block arrives. Never: moving the tip.
Runs on the chain thread; checks and file writes happen without the chain lock.
"""

import logging

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.candidates import work_key
from clarion.node.chain.state import ChainState
from clarion.node.consensus.block_check import check_block_header
from clarion.node.consensus.block_context import contextual_check_block, contextual_check_block_header
from clarion.node.consensus.deployments import segwit_active_at
from clarion.node.errors import BlockInvalid
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage import block_status
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.rows import BlockPosition, StoredBlock

MIN_BLOCKS_TO_KEEP = 288

logger = logging.getLogger(__name__)


class Acceptance:
    """Puts headers into the index and blocks into block files."""

    def __init__(self, state: ChainState, block_files: BlockFiles) -> None:
        self._state = state
        self._block_files = block_files
        self.rebuilding = False
        """While the chain is built anew from the block files, `rebuild` says which block may be connected next."""

    def accept_header(self, header: BlockHeader, *, min_pow_checked: bool = True) -> BlockIndexEntry:
        """Return the header's entry, inserted if it is new.

        Raises BlockInvalid: `duplicate-invalid`, `prev-blk-not-found`, `bad-prevblk`, `too-little-chainwork` or a
        reason of the header checks.
        """
        state = self._state
        known = state.index.get(header.hash)
        if known is not None:
            if known.failed:
                logger.debug("AcceptBlockHeader: block %s is marked invalid", hash_to_hex(header.hash))
                raise BlockInvalid(
                    "duplicate-invalid", f"block {hash_to_hex(header.hash)} was previously marked invalid"
                )
            return known
        try:
            self._check_header(header)
        except BlockInvalid as invalid:
            logger.debug("AcceptBlockHeader: header refused: %s, %s", hash_to_hex(header.hash), invalid)
            raise
        if not min_pow_checked:
            logger.debug(
                "AcceptBlockHeader: not adding new block header %s, missing anti-dos proof-of-work validation",
                hash_to_hex(header.hash),
            )
            raise BlockInvalid("too-little-chainwork", missing_parent=True)
        with state.lock:
            entry = state.index.add(header)
            state.add_header(entry)
        return entry

    def _check_header(self, header: BlockHeader) -> None:
        state = self._state
        check_block_header(header, state.params)
        prev = state.index.get(header.prev_hash)
        if prev is None:
            raise BlockInvalid("prev-blk-not-found", missing_parent=True)
        if prev.failed:
            raise BlockInvalid("bad-prevblk")
        contextual_check_block_header(header, prev, state.params, state.clock.now())

    def accept_block(
        self,
        block: Block,
        *,
        requested: bool,
        min_pow_checked: bool = True,
        position: BlockPosition | None = None,
    ) -> tuple[BlockIndexEntry, bool]:
        """Return (entry, whether the block is new and now stored). The block passed `check_block`.

        A block that nobody asked for is only stored where it could become the tip soon. `position` says where a block
        lies in our block files already. Raises BlockInvalid; a permanent failure is remembered.
        """
        state = self._state
        entry = self.accept_header(block.header, min_pow_checked=min_pow_checked)
        if entry.has_data or (not requested and self._is_unwanted(entry)):
            return entry, False
        assert entry.prev is not None, "genesis is stored when the chain is made"
        try:
            contextual_check_block(block, entry.prev, state.params)
        except BlockInvalid as invalid:
            self.mark_invalid(entry, invalid)
            logger.error("AcceptBlock: %s", invalid)
            raise
        self.store(block, entry, position)
        return entry, True

    def _is_unwanted(self, entry: BlockIndexEntry) -> bool:
        state = self._state
        tip = state.active.tip
        return (
            entry.tx_count != 0  # it was here before and has been pruned
            or entry.chainwork < tip.chainwork
            or entry.height > tip.height + MIN_BLOCKS_TO_KEEP
            or entry.chainwork < state.options.minimum_chainwork
        )

    def store(self, block: Block, entry: BlockIndexEntry, position: BlockPosition | None = None) -> None:
        """Append the block to a block file and make it, and what waited for it, candidates for the tip.

        With `position` it is there already.
        """
        state = self._state
        if position is None:
            position = self._block_files.append(block.raw)
            if not state.initial_download and entry.prev is state.active.tip:
                state.on_stored(StoredBlock(entry.hash, position))
        segwit = segwit_active_at(entry, state.params)
        with state.lock:
            entry.tx_count = len(block.txs)
            entry.file = position.file
            entry.data_pos = position.offset
            entry.data_size = position.length
            entry.undo_pos = entry.undo_size = 0
            entry.status |= block_status.HAVE_DATA | (block_status.OPT_WITNESS if segwit else 0)
            entry.raise_validity(block_status.VALID_TRANSACTIONS)
            state.mark_dirty(entry)
            if entry.prev is None or entry.prev.chain_tx_count:
                self._link(entry)
            elif entry.prev.is_valid(block_status.VALID_TREE):
                state.unlinked.setdefault(entry.prev.hash, []).append(entry)

    def link_snapshot(self, base: BlockIndexEntry, chain_tx_count: int) -> None:
        """Take `base` as if all before it were there, which its snapshot stands for. Under the chain lock."""
        state = self._state
        base.chain_tx_count = chain_tx_count
        state.mark_dirty(base)
        for entry in state.unlinked.pop(base.hash, ()):
            self._link(entry)

    def _link(self, first: BlockIndexEntry) -> None:
        state = self._state
        queue = [first]
        for entry in queue:
            if entry is state.snapshot_base:
                # It has its count already, and so have those on top.
                continue
            entry.chain_tx_count = entry.tx_count + (entry.prev.chain_tx_count if entry.prev else 0)
            entry.sequence_id = state.next_sequence_id
            state.next_sequence_id += 1
            state.mark_dirty(entry)
            if not self.rebuilding:
                state.try_add_candidate(entry)
            queue.extend(state.unlinked.pop(entry.hash, ()))

    def mark_invalid(self, entry: BlockIndexEntry, invalid: BlockInvalid) -> None:
        """Remember that the block is invalid, unless its bytes were mutated: the hash may still be valid then."""
        if invalid.mutated:
            return
        with self._state.lock:
            entry.status |= block_status.FAILED_VALID
            self._state.mark_dirty(entry)
            self._state.candidates.discard(entry)
            self.invalid_chain_found(entry)

    def invalid_chain_found(self, entry: BlockIndexEntry) -> None:
        """Mark every descendant of an invalid block and find the best header again if it was one."""
        state = self._state
        if state.best_invalid is None or work_key(entry)[0] > state.best_invalid.chainwork:
            state.best_invalid = entry
        for other in state.index.descendants(entry):
            if not other.failed:
                other.status |= block_status.FAILED_VALID
                state.mark_dirty(other)
                state.candidates.discard(other)
        best = state.best_header
        if best is not None and best.descends_from(entry):
            state.recalculate_best_header()
        logger.info("InvalidChainFound: invalid block=%s height=%d", hash_to_hex(entry.hash), entry.height)
        tip = state.active.tip
        logger.info("InvalidChainFound: current best=%s height=%d", hash_to_hex(tip.hash), tip.height)
        state.on_invalid_chain()
