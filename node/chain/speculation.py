"""Blocks that are connected in memory while their scripts are still being checked.

Owns: the list of such blocks, waiting for their checks, and taking all of it back when one fails. Never: commits: what
is in this list is never written as part of the chain, and never told.
Runs on the chain thread.
"""

from collections import deque
from dataclasses import dataclass

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.block_scripts import BlockScripts
from clarion.node.chain.journal import Journal, Mark
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.state import ChainState
from clarion.node.chain.tip_log import log_tip
from clarion.node.consensus.connect import script_failure
from clarion.node.consensus.delta import BlockDelta
from clarion.node.consensus.disconnect import disconnect_block
from clarion.node.errors import BlockInvalid, ClarionError, StorageError
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage import block_status
from clarion.node.storage.rows import BlockPosition
from clarion.node.validation.check_queue import ScriptFailure


@dataclass(slots=True)
class Unsettled:
    """A block at or below the tip whose scripts may still fail. `mark` is the journal before it was connected."""

    entry: BlockIndexEntry
    delta: BlockDelta
    undo: BlockPosition | None
    check: BlockScripts
    mark: Mark
    outcome: BlockOutcome | None


@dataclass(frozen=True, slots=True)
class Failure:
    """A block that turned out invalid and has been taken back."""

    entry: BlockIndexEntry
    invalid: BlockInvalid


class Speculation:
    """The unsettled blocks, lowest first. They are the top of the active chain."""

    def __init__(self, state: ChainState, journal: Journal) -> None:
        self._state = state
        self._journal = journal
        self._blocks: deque[Unsettled] = deque()

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def begin(self) -> Mark | None:
        """The journal before the first unsettled block was connected, None if there is none."""
        return self._blocks[0].mark if self._blocks else None

    def committed(self, end: Mark) -> None:
        """Take note that the journal has written everything before `end`."""
        for block in self._blocks:
            block.mark = block.mark.since(end)

    def add(self, block: Unsettled) -> None:
        """Take note of the new tip."""
        self._blocks.append(block)

    def settle(self, keep: int = 0) -> Failure | None:
        """Wait until at most `keep` blocks are unsettled. Returns the first that failed, after taking it back.

        With it go all blocks above it. Raises StorageError if the workers could not check.
        """
        while len(self._blocks) > keep or (self._blocks and self._blocks[0].check.done()):
            block = self._blocks[0]
            failure = self._result(block)
            if failure is not None:
                return self._take_back(failure)
            self._blocks.popleft()
            self._accept(block)
        return None

    @staticmethod
    def _result(block: Unsettled) -> ScriptFailure | None:
        try:
            return block.check.result()
        except ClarionError as error:
            # The block may be good: that the workers can't tell is our fault and must not condemn it.
            raise StorageError(
                f"the scripts of block {hash_to_hex(block.entry.hash)} can't be checked: {error}"
            ) from error

    def _accept(self, block: Unsettled) -> None:
        entry = block.entry
        with self._state.lock:
            if block.undo is not None:
                entry.undo_pos, entry.undo_size = block.undo.offset, block.undo.length
                entry.status |= block_status.HAVE_UNDO
            entry.raise_validity(block_status.VALID_SCRIPTS)
            self._state.mark_dirty(entry)
        # Not before: what the pool forgets for a block can't be brought back.
        self._state.pool.block_connected(block.delta.block, entry.height)
        self._state.on_settled(block.delta)
        log_tip(entry, self._state.coins.size_bytes)
        if block.outcome is not None:
            block.outcome.judge(entry.hash, None)

    def _take_back(self, failure: ScriptFailure) -> Failure:
        failed = self._blocks[0]
        tx = failed.delta.block.txs[failure.tx_index]
        invalid = script_failure(failure.error, failure.input_index, tx)
        state = self._state
        with state.lock:
            while self._blocks:
                block = self._blocks.pop()
                state.coins.disconnect(disconnect_block(block.delta.block, block.delta.spent, block.delta.height))
                popped = state.active.pop()
                assert popped is block.entry
                if block.outcome is not None and block is not failed:
                    # Had the check been waited for, this block would have come to an invalid parent.
                    block.outcome.judge(block.entry.hash, BlockInvalid("bad-prevblk"))
                    block.outcome.accepted = False
            self._journal.rewind(failed.mark)
            state.add_candidates()
        if failed.outcome is not None:
            failed.outcome.judge(failed.entry.hash, invalid)
        return Failure(failed.entry, invalid)
