"""The chain's state in memory, shared by the modules of this package.

Owns: the values and the small rules about single ones. Never: validation, storage order (see `journal`).
Everything here is written by the chain thread alone, under the chain lock.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from clarion.node.chain.active_chain import ActiveChain
from clarion.node.chain.block_index import SEQUENCE_FROM_DISK, BlockIndex, BlockIndexEntry
from clarion.node.chain.candidates import Candidates, work_key
from clarion.node.chain.clock import Clock
from clarion.node.chain.coins_cache import CoinsCache
from clarion.node.chain.lock import ChainLock
from clarion.node.chain.pool_link import NoPool, PoolLink
from clarion.node.consensus.delta import BlockDelta
from clarion.node.errors import BlockInvalid
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.rows import StoredBlock

FAR_BEHIND_BLOCKS = 144
"""With more blocks than that between the tip and the best header, nobody waits for any one of them."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChainOptions:
    """What the operator chose. `max_tip_age` in seconds; `minimum_chainwork` as a number of hashes."""

    minimum_chainwork: int
    assume_valid: BlockHash | None
    max_tip_age: int = 24 * 60 * 60
    flush_interval_s: float = 2.0
    """Where blocks are committed in batches, and in initial download, commits and flushes are put off for at most this long."""
    cache_bytes: int = 450 << 20
    """Unflushed coins above this many bytes are flushed at once (`-dbcache`)."""
    stop_at_height: int = 0
    """No block is connected once a block at this height or above has become the tip (`-stopatheight`); 0: no limit."""


@dataclass(slots=True)
class ChainState:
    """The header tree, the active chain and what the choice of the best tip depends on."""

    params: ChainParams
    options: ChainOptions
    clock: Clock
    coins: CoinsCache
    lock: ChainLock = field(default_factory=ChainLock)
    pool: PoolLink = field(default_factory=NoPool)
    index: BlockIndex = field(default_factory=BlockIndex)
    active: ActiveChain = field(init=False)
    candidates: Candidates = field(default_factory=Candidates)
    told_tip: BlockIndexEntry | None = None
    """The tip of the last commit: what other threads may speak of. `active` can be ahead of it (`commits_in_batches`)."""
    best_header: BlockIndexEntry | None = None
    best_invalid: BlockIndexEntry | None = None
    initial_download: bool = True
    importing: bool = False
    """While blocks are loaded from files the node stays in initial download, as the reference does."""
    at_a_stretch: bool = False
    """While several blocks are made and connected in one job of the chain thread."""
    dirty: set[int] = field(default_factory=set)
    """Numbers of the headers in the index whose stored row is out of date."""
    unlinked: dict[BlockHash, list[BlockIndexEntry]] = field(default_factory=dict)
    """Blocks with data whose parent's data is missing, by the parent's hash."""
    next_sequence_id: int = SEQUENCE_FROM_DISK + 1
    precious_sequence_id: int = -1
    last_precious_work: int = 0
    snapshot_base: BlockIndexEntry | None = None
    """The block of the snapshot that the active chain starts from, while the history below is not validated: nothing at
    or below it can be undone, and only what builds on it is connected."""
    validated_tip: BlockIndexEntry | None = None
    """The last block below the snapshot up to which everything is validated, durably; None without such a snapshot."""
    on_refused: Callable[[BlockHash, BlockInvalid], None] = lambda block_hash, invalid: None
    """Called on the chain thread for a block that failed its full check, whenever it was handed in."""
    halted: bool = False
    """Whether the height at which to stop was reached in this run."""
    on_halt: Callable[[], None] = lambda: None
    """Called once on the chain thread when that happens: the tip is durable then."""

    on_stored: Callable[[StoredBlock], None] = lambda block: None
    """Called on the chain thread for a block that came in outside initial download and will probably be the tip; its
    scripts have not been run, and nothing is durable."""

    on_settled: Callable[[BlockDelta], None] = lambda delta: None
    """Called on the chain thread for every block that is connected for good, before its commit."""

    on_invalid_chain: Callable[[], None] = lambda: None
    """Called on the chain thread, under the chain lock, when a block was found invalid."""

    def __post_init__(self) -> None:
        self.active = ActiveChain(self.index)

    def mark_dirty(self, entry: BlockIndexEntry) -> None:
        """Have the next commit write the entry's row."""
        self.dirty.add(entry.number)

    def update_initial_download(self) -> None:
        """Leave initial download for good once the tip has enough work and is recent (`-maxtipage`)."""
        if not self.initial_download or self.importing or self.active.height < 0:
            return
        tip = self.active.tip
        if tip.chainwork < self.options.minimum_chainwork or tip.time < self.clock.now() - self.options.max_tip_age:
            return
        logger.info("Leaving InitialBlockDownload (latching to false)")
        self.initial_download = False

    @property
    def commits_in_batches(self) -> bool:
        """Whether a step of the chain is committed with others, once the thread has nothing to do or time is up.

        Outside initial download only while the pool is empty: else it could be seen without what a block confirmed
        that is not told yet.
        """
        return self.initial_download or (self.pool.idle and (self.at_a_stretch or self._is_far_behind()))

    def _is_far_behind(self) -> bool:
        best, tip = self.best_header, self.active.tip
        return best is not None and best.height > tip.height + FAR_BEHIND_BLOCKS and best.ancestor(tip.height) is tip

    def may_become_tip(self, entry: BlockIndexEntry) -> bool:
        """Whether `entry` builds on the snapshot below which nothing can be undone yet, where there is one."""
        return self.snapshot_base is None or entry.descends_from(self.snapshot_base)

    def try_add_candidate(self, entry: BlockIndexEntry) -> None:
        """Make `entry` a candidate unless the tip is better."""
        if not self.may_become_tip(entry):
            return
        if self.active.height < 0 or work_key(entry) >= work_key(self.active.tip):
            self.candidates.add(entry)

    def add_candidates(self) -> None:
        """Make every block a candidate that can be connected and is no worse than the tip."""
        for entry in self.index.connectable(self.active.tip.chainwork):
            self.try_add_candidate(entry)

    def add_header(self, entry: BlockIndexEntry) -> None:
        """Take note of an entry that was just added to the index."""
        self.mark_dirty(entry)
        if self.best_header is None or self.best_header.chainwork < entry.chainwork:
            self.best_header = entry

    def recalculate_best_header(self) -> None:
        """Find the best header again after the present one failed; ties go to the tip's chain."""
        self.best_header = self.index.best_valid(self.active.tip)
