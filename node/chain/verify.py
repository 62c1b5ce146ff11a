"""Checking what is stored: `verifychain` and the check at every start.

Owns: the levels and words of the reference's CVerifyDB. Never: changing anything, the chain lock while it reads.
Runs on the caller's thread, on a snapshot of the coins; the chain goes on meanwhile.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from enum import Enum, auto

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.manager import ChainManager
from clarion.node.chain.script_policy import script_check_reason
from clarion.node.chain.service import ChainService
from clarion.node.chain.stores import ChainStores
from clarion.node.consensus.bip30 import bip30_outpoints
from clarion.node.consensus.block_check import check_block
from clarion.node.consensus.connect import connect_block, prevouts_to_fetch, script_failure
from clarion.node.consensus.delta import BlockDelta
from clarion.node.consensus.disconnect import DisconnectDelta, disconnect_block, touched_outpoints
from clarion.node.errors import BlockFileError, BlockInvalid, ConfigError, DecodeError
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, hash_to_hex
from clarion.node.storage.coin_store import CoinSnapshot
from clarion.node.validation.inline_queue import InlineQueue

COIN_BYTES = 250
"""Rough cost in bytes of one coin that is kept in memory."""

MAX_FUTURE_BLOCK_TIME_S = 2 * 60 * 60

logger = logging.getLogger(__name__)


class VerifyResult(Enum):
    """What came of it, by the reference's names."""

    SUCCESS = auto()
    CORRUPTED_BLOCK_DB = auto()
    INTERRUPTED = auto()
    SKIPPED_L3_CHECKS = auto()
    SKIPPED_MISSING_BLOCKS = auto()


class _Corrupted(Exception):
    """Something that is stored is not as it must be; the text is for the log."""


class Verifier:
    """Checks the last blocks of the active chain."""

    def __init__(
        self,
        service: ChainService,
        stores: ChainStores,
        *,
        pruned: bool = False,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """`pruned`: blocks whose data is missing end the check instead of failing it."""
        self._service = service
        self._stores = stores
        self._pruned = pruned
        self._interrupted = interrupted

    def verify(self, level: int, depth: int) -> VerifyResult:
        """Check the last `depth` blocks (0 or less: all).

        0: they can be read; 1: their context-free rules; 2: their undo data; 3: disconnecting them from the coins in
        memory; 4: connecting them again. Raises StorageError if the database fails.
        """
        level = max(0, min(4, level))
        with ExitStack() as stack:
            blocks, coins = self._service.submit(self._begin, depth, stack).result()
            if not blocks:
                return VerifyResult.SUCCESS
            logger.info("Verifying last %d blocks at level %d", len(blocks), level)
            run = _Run(self._service.manager, self._stores, coins, level, len(blocks))
            try:
                return self._verify(run, blocks)
            except _Corrupted as corrupted:
                logger.error("Verification error: %s", corrupted)
                return VerifyResult.CORRUPTED_BLOCK_DB

    def _begin(self, depth: int, stack: ExitStack) -> tuple[list[BlockIndexEntry], CoinSnapshot]:
        """Return the blocks, the tip first, and a snapshot of the coins at the tip. Runs on the chain thread."""
        manager = self._service.manager
        manager.commit()
        manager.journal.flush()
        active = manager.state.active
        if depth <= 0 or depth > active.height:
            depth = active.height
        coins = stack.enter_context(self._stores.coins.snapshot())
        coins.tip()  # The first read is what begins the snapshot.
        found = (active.at(height) for height in range(active.height, active.height - depth, -1))
        return [entry for entry in found if entry is not None], coins

    def _verify(self, run: "_Run", blocks: Sequence[BlockIndexEntry]) -> VerifyResult:
        skipped_missing = False
        checked: list[BlockIndexEntry] = []
        for entry in blocks:
            if self._pruned and not entry.has_data:
                logger.info(
                    "Block verification stopping at height %d (no data). This could be due to pruning or use of an "
                    "assumeutxo snapshot.",
                    entry.height,
                )
                skipped_missing = True
                break
            run.check(entry)
            checked.append(entry)
            if self._interrupted():
                return VerifyResult.INTERRUPTED
        run.end_disconnecting(blocks[0].height)
        if run.level >= 4 and not run.skipped_l3:
            for entry in reversed(checked):
                run.reconnect(entry)
                if self._interrupted():
                    return VerifyResult.INTERRUPTED
        logger.info("Verification: checked last %d blocks at level %d", len(checked), run.level)
        if run.skipped_l3:
            return VerifyResult.SKIPPED_L3_CHECKS
        if run.level >= 3:
            logger.info("Verification: no coin database inconsistencies (%d transactions)", run.good_transactions)
        return VerifyResult.SKIPPED_MISSING_BLOCKS if skipped_missing else VerifyResult.SUCCESS


class _Run:
    """One verification under way."""

    def __init__(self, manager: ChainManager, stores: ChainStores, coins: CoinSnapshot, level: int, depth: int) -> None:
        self.level = level
        self.good_transactions = 0
        self.skipped_l3 = False
        self._state = manager.state
        self._stores = stores
        self._coins = _Overlay(coins)
        self._failure: BlockIndexEntry | None = None
        self._steps = depth * (2 if level >= 4 else 1)
        self._done = 0
        self._told = 0
        self._scripts = InlineQueue()

    def check(self, entry: BlockIndexEntry) -> None:
        """Check one block up to level 3, downwards from the tip. Raises _Corrupted."""
        self._tell()
        block = self._read(entry)
        if self.level >= 1:
            try:
                check_block(block, self._state.params)
            except BlockInvalid as invalid:
                raise _Corrupted(f"found bad block at {_name(entry)} ({invalid})") from None
        if self.level < 2:
            return
        try:
            undo = self._stores.undo_files.read_undo(entry.undo_position, entry.hash)
        except BlockFileError:
            raise _Corrupted(f"found bad undo data at {_name(entry)}") from None
        if self.level >= 3:
            self._disconnect(entry, block, undo)

    def _disconnect(self, entry: BlockIndexEntry, block: Block, undo: Sequence[Sequence[Coin]]) -> None:
        if self.skipped_l3 or self._coins.size_bytes > self._state.options.cache_bytes:
            self.skipped_l3 = True
            return
        try:
            current = self._coins.fetch(touched_outpoints(block))
            delta = disconnect_block(block, undo, entry.height, current=current)
        except BlockFileError:
            raise _Corrupted(f"irrecoverable inconsistency in block data at {_name(entry)}") from None
        self._coins.disconnect(delta)
        if delta.unclean:
            self.good_transactions = 0
            self._failure = entry
        else:
            self.good_transactions += len(block.txs)

    def end_disconnecting(self, tip_height: int) -> None:
        """Raise _Corrupted if the coins did not fit the blocks."""
        if self._failure is not None:
            raise _Corrupted(
                f"coin database inconsistencies found (last {tip_height - self._failure.height + 1} blocks, "
                f"{self.good_transactions} good transactions before that)"
            )
        if self.skipped_l3:
            logger.warning(
                "Skipped verification of level >=3 (insufficient database cache size). Consider increasing -dbcache."
            )

    def reconnect(self, entry: BlockIndexEntry) -> None:
        """Connect a disconnected block again, with its scripts. Raises _Corrupted."""
        self._tell()
        block = self._read(entry)
        coins, params = self._coins, self._state.params
        existing = set(coins.fetch(list(bip30_outpoints(block, entry, params))))
        try:
            result = connect_block(block, entry, params, coins.fetch(prevouts_to_fetch(block)), bip30_existing=existing)
            if script_check_reason(self._state, entry) is not None:
                failure = self._scripts.check(result.script_jobs, result.flags)
                if failure is not None:
                    raise script_failure(failure.error, failure.input_index, block.txs[failure.tx_index])
        except BlockInvalid as invalid:
            raise _Corrupted(f"found unconnectable block at {_name(entry)} ({invalid})") from None
        coins.connect(result.delta)

    def _read(self, entry: BlockIndexEntry) -> Block:
        try:
            block = Block.parse(self._stores.block_files.read(entry.data_position))
        except (BlockFileError, DecodeError):
            block = None
        if block is None or block.hash != entry.hash:
            raise _Corrupted(f"ReadBlock failed at {_name(entry)}")
        return block

    def _tell(self) -> None:
        percent = max(1, min(99, self._done * 100 // self._steps))
        if not self._done or percent // 10 > self._told:
            self._told = percent // 10
            logger.info("Verification progress: %d%%", percent if self._done else 0)
        self._done += 1


class _Overlay:
    """Coins of a snapshot with changes on top that are never stored."""

    def __init__(self, coins: CoinSnapshot) -> None:
        self._coins = coins
        self._changes: dict[OutPoint, Coin | None] = {}

    @property
    def size_bytes(self) -> int:
        """Estimated memory of the changes."""
        return len(self._changes) * COIN_BYTES

    def fetch(self, outpoints: Collection[OutPoint]) -> dict[OutPoint, Coin]:
        """Return the unspent ones among `outpoints`."""
        found = self._coins.fetch([outpoint for outpoint in outpoints if outpoint not in self._changes])
        for outpoint in outpoints:
            coin = self._changes.get(outpoint)
            if coin is not None:
                found[outpoint] = coin
        return found

    def disconnect(self, delta: DisconnectDelta) -> None:
        """Take a block back."""
        self._changes.update(dict.fromkeys(delta.removed))
        self._changes.update(delta.restored)

    def connect(self, delta: BlockDelta) -> None:
        """Apply a block."""
        self._changes.update(delta.created)
        self._changes.update((txin.prevout, None) for tx in delta.block.txs[1:] for txin in tx.inputs)


def _name(entry: BlockIndexEntry) -> str:
    return f"{entry.height}, hash={hash_to_hex(entry.hash)}"


def check_at_start(
    verifier: Verifier, tip: BlockIndexEntry, now: int, *, level: int, depth: int, full: bool = False
) -> str | None:
    """Return why the node must not start on this chain, None if it may. `now` in Unix seconds.

    `full`: the operator asked for this check. Raises ConfigError if it then can't be done for want of memory.
    """
    if tip.height == 0:
        return None
    if tip.time > now + MAX_FUTURE_BLOCK_TIME_S:
        return (
            "The block database contains a block which appears to be from the future. This may be due to your "
            "computer's date and time being set incorrectly. Only rebuild the block database if you are sure that your "
            "computer's date and time are correct"
        )
    result = verifier.verify(level, depth)
    if result is VerifyResult.SKIPPED_L3_CHECKS and full:
        raise ConfigError("Insufficient dbcache for block verification")
    if result is VerifyResult.CORRUPTED_BLOCK_DB:
        return "Corrupted block database detected"
    return None
