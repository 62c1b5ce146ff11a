"""The operator's verdicts on blocks: `invalidateblock`, `reconsiderblock`, `preciousblock`.

Owns: marking branches by hand and keeping the candidates right while doing so. Never: consensus decisions.
Runs on the chain thread.
"""

from clarion.node.chain.acceptance import Acceptance
from clarion.node.chain.activation import Activation
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.connector import Connector
from clarion.node.chain.journal import Journal
from clarion.node.chain.state import ChainState
from clarion.node.storage import block_status

LOWEST_SEQUENCE_ID = -(2**31)

MAX_READMITTED_BLOCKS = 10
"""Of a deeper invalidation the other blocks' transactions don't come back to the pool: that would take too long."""


class Verdicts:
    """Changes what the node thinks of a block because an operator says so."""

    def __init__(
        self,
        state: ChainState,
        acceptance: Acceptance,
        connector: Connector,
        activation: Activation,
        journal: Journal,
    ) -> None:
        self._state = state
        self._acceptance = acceptance
        self._connector = connector
        self._activation = activation
        self._journal = journal

    def invalidate(self, entry: BlockIndexEntry) -> None:
        """Mark a block and its descendants invalid, and leave its branch. Nothing happens to genesis."""
        if entry.prev is None:
            # The reference says nothing either; it only looks for a better chain, as after every verdict.
            self._activation.activate_best_chain()
            return
        try:
            self._leave(entry)
        finally:
            self._state.pool.release()
        self._activation.activate_best_chain()

    def _leave(self, entry: BlockIndexEntry) -> None:
        state = self._state
        failed = entry
        start = state.active.tip
        disconnected = 0
        while entry in state.active:
            failed = self._connector.disconnect_tip()
            disconnected += 1
            state.pool.reorganised(readmit=disconnected <= MAX_READMITTED_BLOCKS)
            with state.lock:
                self._fail(failed)
                state.candidates.add(state.active.tip)
        if start is not state.active.tip:
            # The reference announces no block here; the log still says where the tip is.
            self._journal.tip_changed(state.active.tip)
        with state.lock:
            self._fail(failed)
            self._fail(entry)
            self._acceptance.invalid_chain_found(failed)
            self._acceptance.invalid_chain_found(entry)
            state.add_candidates()
            if state.best_header is None or state.best_header.failed:
                state.recalculate_best_header()
        self._journal.commit()

    def _fail(self, entry: BlockIndexEntry) -> None:
        entry.status |= block_status.FAILED_VALID
        self._state.mark_dirty(entry)
        self._state.candidates.discard(entry)

    def reconsider(self, entry: BlockIndexEntry) -> None:
        """Take the mark off a block, its ancestors and its descendants, and move to the best chain again."""
        state = self._state
        with state.lock:
            # What builds on a failed block has failed too: above the first ancestor that is good, all are.
            at: BlockIndexEntry | None = entry
            while at is not None and at.failed:
                self._absolve(at)
                at = at.prev
            for other in state.index.descendants(entry):
                if other.failed:
                    self._absolve(other)
            state.recalculate_best_header()
        self._activation.activate_best_chain()

    def _absolve(self, entry: BlockIndexEntry) -> None:
        entry.status &= ~block_status.FAILED_VALID
        self._state.mark_dirty(entry)
        if entry.connectable:
            self._state.try_add_candidate(entry)
        if entry is self._state.best_invalid:
            self._state.best_invalid = None

    def make_precious(self, entry: BlockIndexEntry) -> None:
        """Treat a block as if it had been received before others of the same work."""
        state = self._state
        with state.lock:
            tip = state.active.tip
            if entry.chainwork < tip.chainwork:
                return
            if tip.chainwork > state.last_precious_work:
                state.precious_sequence_id = -1
            state.last_precious_work = tip.chainwork
            state.candidates.discard(entry)
            entry.sequence_id = state.precious_sequence_id
            state.precious_sequence_id = max(state.precious_sequence_id - 1, LOWEST_SEQUENCE_ID)
            if entry.connectable and state.may_become_tip(entry):
                state.candidates.add(entry)
                state.candidates.prune(tip)
        self._activation.activate_best_chain()
