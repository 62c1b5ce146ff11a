"""Moving the tip to the most-work chain, through reorganisations and invalid branches.

Owns: the choice among candidates and the order of the reference's signals. Never: checking blocks (see `connector`).
Runs on the chain thread. What happens until the new tip is better than the old one is never divided among commits, so no
reader ever sees a chain with less work than before. Where commits come in batches, several such steps share one.
"""

import logging

from clarion.node.chain.acceptance import Acceptance
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.candidates import work_key
from clarion.node.chain.connector import Connector
from clarion.node.chain.journal import Journal
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.state import ChainState
from clarion.node.errors import BlockInvalid
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import hash_to_hex

CONNECT_AHEAD = 32
"""Blocks that are lined up at a time: the way to the best tip need not be walked whole at every step."""

MAX_UNSETTLED = 8
"""Blocks whose scripts may still be in work in initial download: enough that the workers never wait for this thread."""

logger = logging.getLogger(__name__)


class _TakenBack(Exception):
    """Blocks were taken back because of a failed script, so what was being done has lost its ground."""


class Activation:
    """Makes the best candidate the tip."""

    def __init__(self, state: ChainState, acceptance: Acceptance, connector: Connector, journal: Journal) -> None:
        self._state = state
        self._acceptance = acceptance
        self._connector = connector
        self._journal = journal

    def activate_best_chain(self, block: Block | None = None, outcome: BlockOutcome | None = None) -> None:
        """Connect and disconnect until no candidate is better than the tip.

        `block` spares reading it again if it is connected; `outcome` hears what the full check said of its block. In
        initial download the last blocks may still be unsettled on return. Raises StorageError if data that the node
        stored is missing.
        """
        while not self._state.halted:
            try:
                if self._advance(block, outcome):
                    return
            except _TakenBack:
                # The tip is where it was before the failed block came: look for the best chain from there.
                continue

    def settle(self) -> None:
        """Wait for all script checks; where one fails, move to the best chain without it."""
        if not len(self._connector.speculation):
            return
        try:
            while not self._settled():
                self.activate_best_chain()
        finally:
            self._state.pool.release()

    def commit_settled(self) -> bool:
        """Commit all but the blocks whose scripts are still being checked; False if these must be waited for.

        So the workers always have the next block's checks at hand: waiting for them would let them run dry.
        """
        speculation = self._connector.speculation
        end = speculation.begin
        if end is None or not self._state.initial_download or not self._journal.divisible:
            return False
        self._journal.commit(end)
        speculation.committed(end)
        return True

    def _settled(self, keep: int = 0) -> bool:
        """Wait for script checks; False if a block failed and was taken back."""
        return self._first_failed(keep) is None

    def _first_failed(self, keep: int) -> BlockIndexEntry | None:
        """Wait for script checks; return the block that failed and was taken back with all behind it."""
        if not self._state.commits_in_batches and len(self._connector.speculation):
            # A commit follows at once; what it needs is done while the scripts are checked.
            self._journal.sync_files()
        failure = self._connector.speculation.settle(keep)
        if failure is None:
            return None
        self._refuse(failure.entry, failure.invalid, failure.entry)
        return failure.entry

    def _advance(self, block: Block | None, outcome: BlockOutcome | None) -> bool:
        """Move to a better tip; True once there is none. Raises _TakenBack."""
        try:
            return self._advance_held(block, outcome)
        finally:
            self._state.pool.release()

    def _advance_held(self, block: Block | None, outcome: BlockOutcome | None) -> bool:
        state = self._state
        start = state.active.tip if state.active.height >= 0 else None
        best: BlockIndexEntry | None = None
        moved = False
        while True:
            best = best or self.find_most_work_chain()
            if best is None or (start is not None and best is state.active.tip):
                break
            valid = self._step(best, start, block, outcome)
            self._journal.end_step()
            moved = True
            if not valid:
                best = None
            if start is None or work_key(state.active.tip) > work_key(start):
                break
        if not moved:
            return True
        fork = state.active.find_fork(start) if start is not None else None
        halt = False
        if fork is not state.active.tip:
            self._journal.tip_changed(fork)
            halt = 0 < state.options.stop_at_height <= state.active.height
        if halt or not state.commits_in_batches or (self._journal.due and not self.commit_settled()):
            if not self._settled():
                raise _TakenBack
            self._journal.commit()
        if halt:
            state.halted = True
            state.on_halt()
        return state.active.tip is best

    def find_most_work_chain(self) -> BlockIndexEntry | None:
        """Return the best candidate whose whole path is valid and stored; unusable ones are dropped."""
        state = self._state
        while (best := state.candidates.best()) is not None:
            at: BlockIndexEntry | None = best
            while at is not None and at not in state.active and at.has_data and not at.failed:
                at = at.prev
            if at is None or at in state.active:
                return best
            with state.lock:
                self._drop_path(best, at)
        return None

    def _drop_path(self, best: BlockIndexEntry, broken: BlockIndexEntry) -> None:
        state = self._state
        if broken.failed and (state.best_invalid is None or best.chainwork > state.best_invalid.chainwork):
            state.best_invalid = best
        at = best
        while at is not broken:
            assert at.prev is not None
            if not broken.failed and at not in state.unlinked.get(at.prev.hash, ()):
                state.unlinked.setdefault(at.prev.hash, []).append(at)
            state.candidates.discard(at)
            at = at.prev
        state.candidates.discard(broken)

    def _step(
        self, best: BlockIndexEntry, start: BlockIndexEntry | None, block: Block | None, outcome: BlockOutcome | None
    ) -> bool:
        """Go towards `best` until the tip is better than it was. Returns False if a block on the way is invalid.

        `start` is the tip that was told last; only while it is not left, blocks are connected ahead of their checks.
        """
        state = self._state
        old = state.active.tip if state.active.height >= 0 else None
        fork = state.active.find_fork(best)
        extends = fork is start
        if not extends and not self._settled():
            raise _TakenBack
        while state.active.height >= 0 and state.active.tip is not fork:
            self._connector.disconnect_tip()
        # The pool follows what is settled; while it holds anything, it must not fall behind.
        ahead = MAX_UNSETTLED if extends and state.initial_download and state.pool.idle else 0
        valid = self._connect_towards(best, old, ahead, block, outcome)
        if old is not None and fork is not old:
            state.pool.reorganised(readmit=True)
        state.pool.check()
        return valid

    def _connect_towards(
        self,
        best: BlockIndexEntry,
        old: BlockIndexEntry | None,
        ahead: int,
        block: Block | None,
        outcome: BlockOutcome | None,
    ) -> bool:
        """Connect blocks up to `best` or until the tip is better than `old`; False if one is invalid.

        At most `ahead` of them may be unsettled.
        """
        state = self._state
        height = state.active.height
        while height != best.height:
            target = min(height + CONNECT_AHEAD, best.height)
            path = []
            at = best.ancestor(target)
            while at is not None and at.height != height:
                path.append(at)
                at = at.prev
            height = target
            for entry in reversed(path):
                if not self._try_connect(entry, path[0], block, outcome):
                    return False
                # A branch must be known to be good before the chain it replaces is forgotten.
                failed = self._first_failed(ahead)
                if failed is entry:
                    with state.lock:
                        self._acceptance.invalid_chain_found(path[0])
                    return False
                if failed is not None:
                    raise _TakenBack
                with state.lock:
                    state.candidates.prune(state.active.tip)
                if old is None or state.active.tip.chainwork > old.chainwork:
                    return True
        return True

    def _try_connect(
        self, entry: BlockIndexEntry, last: BlockIndexEntry, block: Block | None, outcome: BlockOutcome | None
    ) -> bool:
        given = block if block is not None and block.hash == entry.hash else None
        try:
            self._connector.connect_tip(entry, given, outcome)
        except BlockInvalid as invalid:
            if not self._settled():
                raise _TakenBack from None
            if outcome is not None:
                outcome.judge(entry.hash, invalid)
            self._refuse(entry, invalid, last)
            return False
        return True

    def _refuse(self, entry: BlockIndexEntry, invalid: BlockInvalid, last: BlockIndexEntry) -> None:
        logger.info("Block validation error: %s", invalid)
        logger.error("ConnectTip: ConnectBlock %s failed, %s", hash_to_hex(entry.hash), invalid)
        self._acceptance.mark_invalid(entry, invalid)
        self._state.on_refused(entry.hash, invalid)
        if not invalid.mutated and last is not entry:
            with self._state.lock:
                self._acceptance.invalid_chain_found(last)
