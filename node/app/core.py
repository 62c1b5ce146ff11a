"""The part that every way of running shares: storage, chain thread, script workers and events.

Owns: starting them in order and stopping them in reverse, whatever fails in between. Never: the API.
"""

import logging
from collections.abc import Callable
from contextlib import ExitStack

from clarion.node.app.mempool import make_fee_estimator, make_mempool
from clarion.node.app.storage import open_storage
from clarion.node.chain.acceptance import MIN_BLOCKS_TO_KEEP
from clarion.node.chain.block_statistics import STORE_NAME
from clarion.node.chain.clock import Clock
from clarion.node.chain.indexes.indexes import Indexes
from clarion.node.chain.manager import ChainManager
from clarion.node.chain.prune import Pruner, has_pruned
from clarion.node.chain.service import ChainService
from clarion.node.chain.snapshot.loading import SnapshotLoader
from clarion.node.chain.snapshot.validator import BackgroundValidator
from clarion.node.chain.state import ChainOptions
from clarion.node.chain.statistics import StatisticsKeeper
from clarion.node.chain.verify import Verifier, check_at_start
from clarion.node.collector import tune_collector
from clarion.node.config import Config, params_of
from clarion.node.errors import RebuildNeeded
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.ids import NULL_HASH
from clarion.node.storage.directory_lock import DirectoryLock
from clarion.node.storage.rebuild_step import Rebuild
from clarion.node.validation.check_queue import make_check_queue
from clarion.node.validation.pipeline import ScriptPipeline
from clarion.node.validation.script_cache import ScriptCache
from clarion.node.validation.tx_scripts import TxScripts
from clarion.notifiers.runner import EventsRunner
from clarion.plugins.delivery import make_events_runner
from clarion.plugins.indexes import build_indexes
from clarion.plugins.policy import build_policy

REBUILD_ADVICE = "Please restart with -reindex or -reindex-chainstate to recover."

STOP_PATIENCE_S = 10.0
"""How long a node that stops waits for a database server that is away, in seconds."""

logger = logging.getLogger(__name__)


def chain_options(config: Config, params: ChainParams) -> ChainOptions:
    """Return what the operator chose about the chain, with the network's defaults."""
    assume_valid = params.assume_valid if config.assume_valid is None else config.assume_valid
    return ChainOptions(
        minimum_chainwork=params.minimum_chainwork if config.minimum_chainwork is None else config.minimum_chainwork,
        assume_valid=None if assume_valid == NULL_HASH else assume_valid,
        max_tip_age=config.max_tip_age,
        cache_bytes=config.dbcache,
        stop_at_height=config.stop_at_height,
    )


class NodeCore:
    """A running chain whose events are told. Call `start` once, then `stop`, which is also right after a failed start."""

    def __init__(
        self,
        config: Config,
        lock: DirectoryLock,
        on_fatal: Callable[[BaseException], None],
        interrupted: Callable[[], bool] = lambda: False,
        request_stop: Callable[[], None] = lambda: None,
    ) -> None:
        """Open everything that may refuse: plugins and storage. Takes `lock` over. Raises ConfigError, PluginError.

        `request_stop` is called when the chain has reached the height of -stopatheight.
        """
        self.config = config
        self.params = params_of(config)
        self.clock = Clock(config.mock_time)
        self._on_fatal = on_fatal
        self._interrupted = interrupted
        self._request_stop = request_stop
        self._cleanup = ExitStack()
        try:
            self.events: EventsRunner = make_events_runner(config)
            self.policy = build_policy(config)
        except BaseException:
            lock.release()
            raise
        self.storage = open_storage(config, self.params, lock)
        self._cleanup.callback(self.storage.close)
        try:
            self.indexes = Indexes(
                build_indexes(config),
                lambda name, kept: self.storage.database.open_index(name, self.params, kept),
            )
            self._cleanup.callback(self.indexes.stop)
            self.statistics = StatisticsKeeper(self.storage.database.open_index(STORE_NAME, self.params))
            self._cleanup.callback(self.statistics.stop)
        except BaseException:
            self._cleanup.close()
            raise

    @property
    def last_seq(self) -> int:
        """The last durable row of the event log."""
        return self.storage.database.chain.last_seq

    def start(self, say: Callable[[str], None] = lambda message: None) -> None:
        """Load the chain and start to tell its events. Raises ConfigError, StorageError.

        `say` hears what is being done, in the words of the reference's start-up messages.
        """
        config = self.config
        tune_collector()
        # Events from here on are news, those of a crash recovery among them; the ones before were told before.
        # Starting takes a while, so it runs beside the rest; what is committed meanwhile is told when it is done.
        self.events.start(self.last_seq)
        self._cleanup.callback(self.events.stop)
        say("Starting script verification…")
        checker = make_check_queue(config.par, config.par_batch, config.check_queue)
        self._cleanup.callback(checker.close)
        checker.start()
        cache = ScriptCache(config.script_cache_bytes)
        pipeline = ScriptPipeline(checker, cache)
        self.manager = ChainManager(
            self.params, self.storage.stores, pipeline, chain_options(config, self.params), self.clock
        )
        self.pruner = Pruner(
            self.manager.state,
            self.manager.journal,
            self.storage.stores,
            config.prune_target_bytes,
            lambda timeout_s: self.events.sync(self.last_seq, timeout_s),
            self.indexes,
            self._lane_limits,
        )
        self.manager.state.on_halt = self._request_stop
        self.manager.journal.on_commit = self._on_commit
        self.manager.journal.on_early = self.events.offer
        self.manager.state.on_stored = self.events.expect
        self.chain = ChainService(self.manager, self._on_fatal)
        self.mempool = make_mempool(config, self.chain, TxScripts(checker, cache), self.policy)
        # Once the chain thread has ended, nothing changes the pool any more.
        self._cleanup.callback(self.mempool.save_at_stop)
        self.fee_estimator = make_fee_estimator(config, self.mempool.pool, self._cleanup)
        self.chain.start()
        self._cleanup.callback(self.chain.stop)
        self.background = BackgroundValidator(self.chain, self.storage.stores)
        self._cleanup.callback(self.background.stop)
        self.snapshots = SnapshotLoader(
            self.chain,
            self.storage.database.snapshot,
            lambda: len(self.mempool.pool),
            self._interrupted,
            self.background.start,
        )
        self._cleanup.callback(self.hurry)
        say("Loading block index…")
        self._check_pruning()
        self.chain.submit(self.manager.load).result()
        self.indexes.load(self.manager, self.storage.stores)
        self.mempool.start()
        self._check_chain(say)
        if has_pruned(self.storage.stores):
            self.indexes.check_blocks(self.manager)
        if config.prune_mib:
            say("Pruning blockstore…")
            self.chain.submit(self._prune_at_start).result()
        self.events.wait_ready()

    def start_indexes(self) -> None:
        """Let the indexes and the statistics of blocks follow the chain, and validate the history below a snapshot."""
        self.indexes.start()
        self.background.start()
        self.statistics.start(self.manager, self.storage.stores, self.indexes.recent)

    def interrupt_indexes(self) -> None:
        """Have them, and the validation of a history below a snapshot, end soon; returns at once."""
        self.background.interrupt()
        self.indexes.interrupt()
        self.statistics.interrupt()

    def _on_commit(self, seq: int) -> None:
        self.events.wake(seq)
        self.pruner.after_commit()

    def _lane_limits(self, tip_height: int) -> dict[str, int]:
        """Return what lanes of delivery allow to be pruned. One that is too far behind holds nothing back any more."""
        floor = tip_height - self.config.notify_prune_lag
        return {f"lane {name}": max(height - 1, floor) for name, height in self.events.lane_heights().items()}

    def _prune_at_start(self) -> None:
        self.pruner.finish()
        self.pruner.prune_to_target()

    def _check_pruning(self) -> None:
        prune = self.config.prune_mib
        if has_pruned(self.storage.stores) and not prune:
            raise RebuildNeeded(
                "You need to rebuild the database using -reindex to go back to unpruned mode.  This will redownload the "
                f"entire blockchain.\n{REBUILD_ADVICE}"
            )
        if prune == 1:
            logger.info(
                "Block pruning enabled. Use RPC call pruneblockchain(height) to manually prune block and undo files."
            )
        elif prune:
            logger.info("Prune configured to target %d MiB on disk for block and undo files.", prune)

    def _check_chain(self, say: Callable[[str], None]) -> None:
        config = self.config
        if self.storage.database.rebuild_step() is not Rebuild.NONE:
            return
        if has_pruned(self.storage.stores) and config.check_blocks > MIN_BLOCKS_TO_KEEP:
            logger.warning(
                "pruned datadir may not have more than %d blocks; only checking available blocks", MIN_BLOCKS_TO_KEEP
            )
        say("Verifying blocks…")
        verifier = Verifier(
            self.chain,
            self.storage.stores,
            pruned=config.prune_mib > 0 or self.manager.state.snapshot_base is not None,
            interrupted=self._interrupted,
        )
        reason = check_at_start(
            verifier,
            self.manager.tip,
            self.clock.now(),
            level=config.check_level,
            depth=config.check_blocks,
            full=config.get("checkblocks") is not None or config.get("checklevel") is not None,
        )
        if reason is not None:
            raise RebuildNeeded(f"{reason}.\n{REBUILD_ADVICE}")

    def hurry(self) -> None:
        """The node is about to stop: no longer wait long for a server that is away. Those who ask would wait for it too."""
        self.storage.database.shorten_patience(STOP_PATIENCE_S)

    def stop(self) -> None:
        """Finish the work at hand, commit, tell what is durable, close everything."""
        self._cleanup.close()
