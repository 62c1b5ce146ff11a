"""Building the chain anew from block files that lie in their place already: `-reindex` and `-reindex-chainstate`.

Owns: what the chain thread does for each block of a rebuild. Never: reading files in order (see `reindex`).
Until the rebuild ends, a block is a candidate for the tip only when it is its turn.
"""

from contextlib import suppress

from clarion.node.chain.acceptance import Acceptance
from clarion.node.chain.activation import Activation
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.candidates import work_key
from clarion.node.chain.journal import Journal
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.state import ChainState
from clarion.node.chain.stores import ChainStores
from clarion.node.consensus.block_check import check_block
from clarion.node.errors import BlockInvalid, StorageError
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.rebuild_step import REBUILD_KEY
from clarion.node.storage.rebuild_step import Rebuild as Step
from clarion.node.storage.rows import BlockPosition, ChainCommit


class Rebuild:
    """The steps of a rebuild. Every call runs on the chain thread."""

    def __init__(
        self,
        state: ChainState,
        acceptance: Acceptance,
        activation: Activation,
        journal: Journal,
        stores: ChainStores,
    ) -> None:
        self._state = state
        self._acceptance = acceptance
        self._activation = activation
        self._journal = journal
        self._chain_store = stores.chain

    def step(self) -> Step:
        """Return what is to be done next."""
        return Step(self._chain_store.read_meta(REBUILD_KEY) or b"")

    def index(self, block: Block, position: BlockPosition) -> BlockOutcome:
        """Put a block that lies at `position` of our block files into the index, without connecting it.

        Of one that is damaged the header stays, if that is good: the blocks above are known then, and are used once
        somebody has sent it.
        """
        outcome = BlockOutcome(block.hash)
        try:
            entry = self._acceptance.accept_header(block.header)
            try:
                check_block(block, self._state.params)
            except BlockInvalid as invalid:
                self._acceptance.mark_invalid(entry, invalid)
                raise
            _, outcome.new = self._acceptance.accept_block(block, requested=True, position=position)
        except BlockInvalid as invalid:
            outcome.invalid = invalid
        return outcome

    def index_header(self, header: BlockHeader) -> None:
        """Put the header of a block that can't be decoded into the index, if it is good."""
        with suppress(BlockInvalid):
            self._acceptance.accept_header(header)

    def end_index(self) -> None:
        """Note, durably, that every block is in the index."""
        self._journal.commit()
        self._chain_store.commit(ChainCommit(meta={REBUILD_KEY: Step.CONNECT.value}))

    def path(self, count: int) -> list[BlockIndexEntry]:
        """Return the next blocks, at most `count`, on the way from the tip to the best block that may be valid."""
        self._activation.settle()
        state = self._state
        tip = state.active.tip
        better = (entry for entry in state.index.connectable(tip.chainwork) if work_key(entry) > work_key(tip))
        best = next(filter(self._is_whole, better), None)
        if best is None:
            return []
        fork = state.active.find_fork(best)
        assert fork is not None
        # A better branch beside the tip is connected as a whole.
        top = best if fork is not tip else best.ancestor(min(best.height, fork.height + count))
        path = []
        while top is not None and top is not fork:
            path.append(top)
            top = top.prev
        return path[::-1]

    def _is_whole(self, entry: BlockIndexEntry) -> bool:
        at: BlockIndexEntry | None = entry
        while at is not None and at not in self._state.active:
            if not at.has_data or at.failed:
                return False
            at = at.prev
        return True

    def connect(self, entry: BlockIndexEntry, block: Block) -> None:
        """Let a block become the tip if it is better, as it is on `path`. Raises StorageError if it is damaged."""
        state = self._state
        if entry.failed:
            return
        try:
            check_block(block, state.params)
        except BlockInvalid as invalid:
            if invalid.mutated or block.hash != entry.hash:
                name = hash_to_hex(entry.hash)
                raise StorageError(
                    f"block {name} in file {entry.file} at {entry.data_pos} is damaged: {invalid}"
                ) from None
            self._acceptance.mark_invalid(entry, invalid)
            return
        with state.lock:
            state.try_add_candidate(entry)
        self._activation.activate_best_chain(block)

    def finish(self) -> None:
        """End the rebuild: from now on the best of all blocks is the tip."""
        self._activation.settle()
        self._acceptance.rebuilding = False
        state = self._state
        with state.lock:
            state.add_candidates()
        self._activation.activate_best_chain()
        self._activation.settle()
        self._journal.commit()
        self._chain_store.commit(ChainCommit(meta={REBUILD_KEY: Step.NONE.value}))
