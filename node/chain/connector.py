"""Connecting one block to the tip and taking the tip off again.

Owns: the hand-offs of one block: fetch prevouts, decide, submit scripts, write undo data, apply. Never: choosing which
block comes next, waiting for scripts. Runs on the chain thread; only the change of memory is under the chain lock.
"""

import logging
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from clarion.node.chain.block_index import BlockIndexEntry, Successor
from clarion.node.chain.block_scripts import BlockScripts, ScriptChecker
from clarion.node.chain.coins_cache import CoinsCache
from clarion.node.chain.journal import Journal
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.script_policy import script_check_reason
from clarion.node.chain.speculation import Speculation, Unsettled
from clarion.node.chain.state import ChainState
from clarion.node.chain.stores import ChainStores
from clarion.node.chain.tip_log import log_tip
from clarion.node.consensus.bip30 import bip30_outpoints, bip30_violation, is_bip30_repeat
from clarion.node.consensus.block_check import check_block
from clarion.node.consensus.block_context import contextual_check_block, contextual_check_block_header
from clarion.node.consensus.connect import (
    ConnectResult,
    HandOn,
    connect_block,
    prevouts_to_fetch,
    script_failure,
)
from clarion.node.consensus.disconnect import disconnect_block
from clarion.node.consensus.position import ChainPosition
from clarion.node.errors import BlockInvalid, DecodeError, StorageError
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, hash_to_hex, make_outpoint
from clarion.node.storage import block_status
from clarion.node.storage.block_files import BlockFiles

SYNC_BESIDE_BYTES = 100_000
"""A block of this size is worth a thread that makes its files durable while it is connected."""

logger = logging.getLogger(__name__)


def read_block(block_files: BlockFiles, entry: BlockIndexEntry) -> Block:
    """Return the stored block. Raises BlockFileError if it is missing, StorageError if it is another block."""
    raw = block_files.read(entry.data_position)
    try:
        block = Block.parse(raw)
    except DecodeError as error:
        raise StorageError(f"block {hash_to_hex(entry.hash)} in its file can't be decoded: {error}") from error
    if block.hash != entry.hash:
        raise StorageError(f"block {hash_to_hex(entry.hash)} is not at its place in file {entry.file}")
    return block


def decide(
    cache: CoinsCache, block: Block, entry: ChainPosition, params: ChainParams, hand_on: HandOn | None
) -> tuple[ConnectResult, set[OutPoint]]:
    """Fetch what the block spends and judge it; also return the coins that it overwrites. Raises BlockInvalid."""
    coins = cache.fetch(prevouts_to_fetch(block))
    existing = cache.existing(bip30_outpoints(block, entry, params))
    try:
        result = connect_block(block, entry, params, coins, bip30_existing=existing, hand_on=hand_on)
        return result, existing
    except BlockInvalid:
        # Where BIP34 makes the look-up needless, a block that is refused anyway still gets the reference's reason.
        if not is_bip30_repeat(entry) and cache.existing(bip30_outpoints(block, entry, params, exact=True)):
            raise bip30_violation() from None
        raise


def take_back(
    cache: CoinsCache,
    block: Block,
    undo: Sequence[Sequence[Coin]],
    entry: BlockIndexEntry,
    lock: AbstractContextManager[None] | None = None,
) -> None:
    """Take the block's effect back from the coins, under `lock`. Raises StorageError if they don't fit its undo data."""
    touched = [txin.prevout for tx in block.txs[1:] for txin in tx.inputs]
    touched += [make_outpoint(tx.txid, index) for tx in block.txs for index in range(len(tx.outputs))]
    delta = disconnect_block(block, undo, entry.height, current=cache.fetch(touched))
    if delta.unclean:
        raise StorageError(f"undo data of block {hash_to_hex(entry.hash)} does not fit the coins")
    with lock or nullcontext():
        cache.disconnect(delta)


class Connector:
    """Moves the tip by one block in either direction."""

    def __init__(
        self,
        state: ChainState,
        journal: Journal,
        stores: ChainStores,
        checker: ScriptChecker,
    ) -> None:
        self._state = state
        self._journal = journal
        self._block_files = stores.block_files
        self._undo_files = stores.undo_files
        self._checker = checker
        self.speculation = Speculation(state, journal)

    def read_block(self, entry: BlockIndexEntry) -> Block:
        """Return the stored block. Raises BlockFileError if it is missing, StorageError if it is another block."""
        return read_block(self._block_files, entry)

    def connect_tip(
        self, entry: BlockIndexEntry, block: Block | None = None, outcome: BlockOutcome | None = None
    ) -> None:
        """Connect `entry`, a child of the tip, in memory; its scripts are checked meanwhile (see `speculation`).

        Raises BlockInvalid, with nothing changed, if it breaks any other rule.
        """
        state = self._state
        if block is None:
            block = self.read_block(entry)
            check_block(block, state.params)
        started = time.perf_counter()
        if entry.prev is None:
            self._advance(entry)
            with state.lock:
                entry.raise_validity(block_status.VALID_SCRIPTS)
                state.mark_dirty(entry)
            log_tip(entry, state.coins.size_bytes)
        else:
            self._connect(entry, block, outcome)
        logger.debug("Connect block %d: %.2fms", entry.height, (time.perf_counter() - started) * 1000)

    def _connect(self, entry: BlockIndexEntry, block: Block, outcome: BlockOutcome | None) -> None:
        state = self._state
        scripts = BlockScripts(self._checker)
        needed = script_check_reason(state, entry) is not None
        is_large = not state.initial_download and len(block.raw) >= SYNC_BESIDE_BYTES
        if is_large:
            self._journal.files.begin()
        result, existing = self._decide(block, entry, scripts.hand_on if needed else None)
        undo = None
        if not entry.has_undo:
            undo = self._undo_files.append(entry.file, entry.hash, result.delta.spent, result.delta.spent_raw)
            if is_large:
                self._journal.files.begin()
        mark = self._journal.mark()
        with state.lock:
            state.coins.connect(result.delta, overwritten=existing)
            self._advance(entry)
        self.speculation.add(Unsettled(entry, result.delta, undo, scripts, mark, outcome))

    def _decide(
        self, block: Block, entry: ChainPosition, hand_on: HandOn | None
    ) -> tuple[ConnectResult, set[OutPoint]]:
        return decide(self._state.coins, block, entry, self._state.params, hand_on)

    def dry_run(self, block: Block, *, check_merkle: bool) -> None:
        """Check `block` on top of the tip, but for its proof of work, and keep nothing. Raises BlockInvalid."""
        state = self._state
        tip = state.active.tip
        if block.header.prev_hash != tip.hash:
            raise BlockInvalid("inconclusive-not-best-prevblk")
        check_block(block, state.params, check_pow=False, check_merkle=check_merkle)
        contextual_check_block_header(block.header, tip, state.params, state.clock.now())
        contextual_check_block(block, tip, state.params)
        scripts = BlockScripts(self._checker)
        result, _ = self._decide(block, Successor(block.header, tip), scripts.hand_on)
        failure = scripts.result()
        if failure is not None:
            raise script_failure(failure.error, failure.input_index, block.txs[failure.tx_index])
        # The block that is mined from this one need not run them again.
        self._checker.remember(result.script_jobs, result.flags)

    def reconnect(self, entry: BlockIndexEntry) -> None:
        """Apply to the coins a block that was connected before the node stopped. Scripts are not run again."""
        result, existing = self._decide(self.read_block(entry), entry, None)
        self._state.coins.connect(result.delta, overwritten=existing)

    def undo_coins(self, entry: BlockIndexEntry) -> Block:
        """Take the block's effect back from the coins and return the block. Raises StorageError."""
        block = self.read_block(entry)
        undo = self._undo_files.read_undo(entry.undo_position, entry.hash)
        take_back(self._state.coins, block, undo, entry, self._state.lock)
        return block

    def disconnect_tip(self) -> BlockIndexEntry:
        """Take the tip off and return its entry. Raises StorageError if its data is missing or damaged."""
        state = self._state
        entry = state.active.tip
        prev = entry.prev
        assert prev is not None, "genesis is never disconnected"
        block = self.undo_coins(entry)
        state.pool.block_disconnected(block)
        with state.lock:
            state.active.pop()
            state.update_initial_download()
            self._journal.disconnected(entry)
        log_tip(prev, state.coins.size_bytes)
        return entry

    def _advance(self, entry: BlockIndexEntry) -> None:
        state = self._state
        with state.lock:
            state.active.append(entry)
            state.update_initial_download()
            self._journal.connected(entry)
