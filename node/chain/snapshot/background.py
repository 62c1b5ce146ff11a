"""The chain below a snapshot: the blocks from genesis to its base, connected one after the other in silence.

Owns: the coins of that chain, which block of it is next, and what is known of it durably. Never: events, the mempool, the
active chain, threads (see `validator`).
Unless a method says otherwise it runs on the chain thread. A failed block is never taken back: the node stops then, and
what is in memory goes with it.
"""

import logging
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.block_scripts import BlockScripts, ScriptChecker
from clarion.node.chain.coins_cache import CoinsCache
from clarion.node.chain.connector import decide, read_block, take_back
from clarion.node.chain.script_policy import script_check_reason
from clarion.node.chain.state import ChainState
from clarion.node.chain.stores import ChainStores
from clarion.node.consensus.connect import script_failure
from clarion.node.consensus.delta import BlockDelta
from clarion.node.errors import BlockInvalid, ClarionError, StorageError
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, hash_to_hex
from clarion.node.storage import block_status
from clarion.node.storage.coin_store import CoinStore
from clarion.node.storage.rows import BlockPosition

MAX_UNSETTLED = 8
"""Blocks whose scripts may still be in work, so that the workers never wait for the chain thread."""

BACKGROUND_CACHE_SHARE = 4
"""The coins of this chain may take one part in so many of what those of the active one may."""

logger = logging.getLogger(__name__)


class _Unsettled(NamedTuple):
    entry: BlockIndexEntry
    delta: BlockDelta
    undo: BlockPosition | None
    check: BlockScripts


class _Checked(NamedTuple):
    entry: BlockIndexEntry
    undo: BlockPosition | None


class Background:
    """The validated chain while another one is active. `tip` is its last block in memory; its scripts may be in work."""

    def __init__(
        self,
        state: ChainState,
        stores: ChainStores,
        checker: ScriptChecker,
        base: BlockIndexEntry,
        store: CoinStore,
        tip: BlockIndexEntry,
    ) -> None:
        """`store` holds the coins at `tip`; `base` is the block to reach."""
        self.base = base
        self.tip = tip
        self.store = store
        self.failure: BlockInvalid | None = None
        """Why a block on the way to the base is invalid."""
        self._state = state
        self._stores = stores
        self._checker = checker
        self._coins = CoinsCache(store)
        self._unsettled: deque[_Unsettled] = deque()
        self._checked: list[_Checked] = []

    @property
    def cache_full(self) -> bool:
        """Whether the coins should be flushed. Any thread."""
        return self._coins.unflushed_bytes > self._state.options.cache_bytes // BACKGROUND_CACHE_SHARE

    @property
    def reached(self) -> bool:
        """Whether the tip is the base."""
        return self.tip is self.base

    def following(self, entry: BlockIndexEntry) -> BlockIndexEntry | None:
        """Return the block behind `entry`, one of the chain to the base, None while its data is missing. Any thread."""
        with self._state.lock:
            found = self.base.ancestor(entry.height + 1)
            return found if found is not None and found.has_data else None

    def off_path(self) -> BlockIndexEntry | None:
        """Return the tip if it must be left for a block of the chain to the base that is no lower, None else. Any thread.

        It is left once all blocks of the better chain up to there are at hand.
        """
        with self._state.lock:
            tip, base = self.tip, self.base
            if base.descends_from(tip):
                return None
            at = base.ancestor(min(tip.height + 1, base.height))
            while at is not None and not tip.descends_from(at):
                if not at.has_data:
                    return None
                at = at.prev
            return tip

    # --- blocks -----------------------------------------------------------------------------------------------------

    def connect(self, entry: BlockIndexEntry, block: Block) -> None:
        """Connect the block behind the tip. What is wrong with it is in `failure` sooner or later."""
        if self.failure is not None or entry.prev is not self.tip:
            return
        if entry.failed:
            self.failure = BlockInvalid("duplicate-invalid")
            return
        scripts = BlockScripts(self._checker)
        # A block that was validated before needs no second check of its scripts; nor what -assumevalid covers.
        known = entry.is_valid(block_status.VALID_SCRIPTS)
        needed = not known and script_check_reason(self._state, entry) is not None
        try:
            result, existing = decide(
                self._coins, block, entry, self._state.params, scripts.hand_on if needed else None
            )
        except BlockInvalid as invalid:
            self._fail(entry, invalid)
            return
        undo = None
        if not entry.has_undo:
            undo = self._stores.undo_files.append(entry.file, entry.hash, result.delta.spent, result.delta.spent_raw)
        self._coins.connect(result.delta, overwritten=existing)
        self.tip = entry
        self._unsettled.append(_Unsettled(entry, result.delta, undo, scripts))
        self._settle(MAX_UNSETTLED)

    def step_back(self) -> None:
        """Take the tip off, which is on another branch than the base. Raises StorageError."""
        self._settle(0)
        entry = self.tip
        block = read_block(self._stores.block_files, entry)
        undo = self._stores.undo_files.read_undo(entry.undo_position, entry.hash)
        take_back(self._coins, block, undo, entry)
        assert entry.prev is not None, "genesis is never disconnected"
        self.tip = entry.prev

    def _settle(self, keep: int) -> None:
        while self._unsettled and (len(self._unsettled) > keep or self._unsettled[0].check.done()):
            block = self._unsettled.popleft()
            try:
                failure = block.check.result()
            except ClarionError as error:
                raise StorageError(
                    f"the scripts of block {hash_to_hex(block.entry.hash)} can't be checked: {error}"
                ) from error
            if failure is not None:
                tx = block.delta.block.txs[failure.tx_index]
                self._fail(block.entry, script_failure(failure.error, failure.input_index, tx))
                return
            self._checked.append(_Checked(block.entry, block.undo))

    def _fail(self, entry: BlockIndexEntry, invalid: BlockInvalid) -> None:
        logger.error("[snapshot] block %s at height %d is invalid: %s", hash_to_hex(entry.hash), entry.height, invalid)
        self.failure = self.failure or invalid

    # --- what is durable --------------------------------------------------------------------------------------------

    def settle(self) -> BlockIndexEntry | None:
        """Wait for all checks and have the next commit write what is known of the blocks; None if one has failed.

        Else the tip: everything about it is durable with that commit, but for the coins.
        """
        self._settle(0)
        if self.failure is not None:
            return None
        state = self._state
        with state.lock:
            for entry, undo in self._checked:
                if undo is not None:
                    entry.undo_pos, entry.undo_size = undo.offset, undo.length
                    entry.status |= block_status.HAVE_UNDO
                entry.raise_validity(block_status.VALID_SCRIPTS)
                state.mark_dirty(entry)
        self._checked = []
        return self.tip

    def begin_flush(self) -> Mapping[OutPoint, Coin | None] | None:
        """Return the changes of the coins up to the tip, to be written by the caller; None if a block has failed.

        Nothing may be connected before `end_flush`. Everything else about the tip must be durable.
        """
        if self.failure is not None:
            return None
        assert not self._unsettled
        return self._coins.begin_flush()

    def end_flush(self) -> None:
        """Let go of the changes: they are stored. Any thread."""
        self._coins.end_flush()
