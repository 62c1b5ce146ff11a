"""The node from start to stop: core, control channel, API workers, loading of files, signals.

Owns: the order of start-up as clients see it (-28 until ready) and the exit status. Never: what the parts do.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import FrameType

from clarion import __version__
from clarion.api.idle_worker import IdleWorkers
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.node_methods import NodeMethods
from clarion.node.app.api import start_api
from clarion.node.app.commands import CommandLane, alert_command, block_command, run_commands, start_command
from clarion.node.app.core import NodeCore
from clarion.node.app.event_retention import keep_event_log_short
from clarion.node.app.mempool import save_fee_estimates
from clarion.node.app.network import make_network, start_network
from clarion.node.app.storage import lock_data_directory
from clarion.node.chain.chain_warnings import ChainWarnings
from clarion.node.chain.loader import BlockLoader
from clarion.node.chain.reindex import Reindexer
from clarion.node.config import Config
from clarion.node.errors import BlockFileError, ClarionError, ConfigError, StorageError
from clarion.node.log import Log, init_message, log_start
from clarion.node.mining.miner import Miner
from clarion.node.mining.template_cache import TemplateCache
from clarion.node.net.service import NetService
from clarion.node.primitives.ids import BlockHash
from clarion.node.scheduler import Scheduler
from clarion.node.storage.blk_reader import block_paths
from clarion.node.storage.directory_lock import DirectoryLock

FEE_FLUSH_INTERVAL_S = 3600
"""How often fee estimates are stored while the node runs."""

logger = logging.getLogger(__name__)


class Node:
    """A running node. `run` starts it, waits for a reason to stop, and stops it."""

    def __init__(
        self, config: Config, log: Log, lock: DirectoryLock, idle: IdleWorkers, on_ready: Callable[[], None]
    ) -> None:
        self._config = config
        self._on_ready = on_ready
        self._lock = lock
        self._idle = idle
        self._log = log
        self._started_at = time.monotonic()
        self._stop = threading.Event()
        self._fatal: BaseException | None = None
        self._methods = NodeMethods()
        self._scheduler = Scheduler()

    def request_stop(self) -> None:
        """Have the node shut down; returns at once. Safe from any thread and from signal handlers."""
        self._stop.set()

    def run(self) -> int:
        """Run until a signal, the `stop` call or a fatal error; return the exit status. Raises ConfigError."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        # As the reference: a new log file for a tool that moved the old one away.
        signal.signal(signal.SIGHUP, lambda number, frame: self._log.handler.reopen())
        with ExitStack() as stack:
            core = NodeCore(self._config, self._lock, self._on_fatal, self._stop.is_set, self.request_stop)
            stack.callback(core.stop)
            log_start(self._config, __version__)
            if core.params.signet_challenge is not None:
                logger.info("Signet derived magic (message start): %s", core.params.magic.hex())
            self._write_pid_file(stack)
            if self._config.server:
                start_api(self._config, core.params, self._methods, core.indexes.names, stack, self._idle)
            core.start(self._say)
            self._scheduler.start()
            stack.callback(self._scheduler.stop)
            if core.fee_estimator is not None:
                self._scheduler.every(
                    FEE_FLUSH_INTERVAL_S, partial(save_fee_estimates, self._config, core.fee_estimator)
                )
            keep_event_log_short(self._config, core.storage.database, self._scheduler, self._stop)
            network = make_network(self._config, core)
            start_network(network, self._scheduler, stack, self._say)
            self._become_ready(core, network, self._watch_chain(core))
            self._say("Done loading")
            self._on_ready()
            start_command(self._config.startup_notify)
            stack.callback(self._load_in_background(core).join)
            # Comes first: requests that wait for a block are answered before their threads and connections end.
            stack.callback(core.manager.tip_watch.stop)
            stack.callback(core.manager.journal.log_watch.stop)
            stack.callback(core.interrupt_indexes)
            stack.callback(core.hurry)
            self._stop.wait()
            run_commands(self._config.shutdown_notify)
            logger.info("Shutdown: In progress...")
            self._stop.set()
        logger.info("Shutdown: done")
        if self._fatal is not None:
            raise ConfigError(f"A fatal internal error occurred, see debug.log for details: {self._fatal}")
        return 0

    def _watch_chain(self, core: NodeCore) -> ChainWarnings:
        """Run the operator's commands for warnings and new tips from now on."""
        state, config = core.manager.state, self._config
        alerts, tips = CommandLane(), CommandLane()
        warnings = ChainWarnings(state, lambda text: alerts.start(alert_command(config.alert_notify, text)))

        def tell_tips(hashes: Sequence[BlockHash]) -> None:
            for block_hash in hashes:
                tips.start(block_command(config.block_notify, block_hash))

        def watch() -> None:
            state.on_invalid_chain = warnings.look_for_invalid_chain
            core.manager.tip_watch.subscribe(warnings.tip_moved)
            if config.block_notify:
                core.manager.journal.on_tips = tell_tips
            warnings.look_for_invalid_chain()

        core.chain.submit(watch).result()
        return warnings

    def _become_ready(self, core: NodeCore, network: NetService, warnings: ChainWarnings) -> None:
        miner = Miner(core.chain, core.mempool.pool, core.clock, self._config.mining, self._stop.is_set)
        self._methods.attach(
            NodeContext(
                params=core.params,
                config=self._config,
                chain=core.chain,
                mempool=core.mempool,
                fee_estimator=core.fee_estimator,
                network=network,
                clock=core.clock,
                events=core.events,
                started_at=self._started_at,
                request_stop=self.request_stop,
                stopping=self._stop.is_set,
                stores=core.storage.stores,
                snapshots=core.snapshots,
                pruner=core.pruner,
                miner=miner,
                templates=TemplateCache(miner),
                scheduler=self._scheduler,
                last_event_seq=lambda: core.manager.journal.last_seq,
                blocks_dir=self._config.blocks_dir,
                log=self._log.filter,
                indexes=core.indexes,
                warnings=warnings.messages,
            )
        )

    def _load_in_background(self, core: NodeCore) -> threading.Thread:
        thread = threading.Thread(target=self._load, args=(core,), name="initload", daemon=True)
        thread.start()
        return thread

    def _load(self, core: NodeCore) -> None:
        """Go on with a rebuild, load the files of -loadblock, connect what is stored and better than the tip.

        Then load the stored mempool.
        """
        try:
            if not Reindexer(core.chain, core.storage.stores.block_files, self._stop.is_set).run():
                return
            self._load_files(core)
            core.chain.submit(core.manager.activate_best_chain).result()
            core.start_indexes()
            if self._config.stop_after_block_import:
                logger.info("Stopping after block import")
                self.request_stop()
                return
            core.mempool.load(self._stop.is_set)
        except StorageError as error:
            logger.error("Loading of blocks ended: %s", error)
            self._on_fatal(error)

    def _load_files(self, core: NodeCore) -> None:
        files: list[Path] = []
        for source in self._config.load_block:
            try:
                files += block_paths(source)
            except BlockFileError as error:
                logger.warning("%s", error)
        missing = [path for path in files if not path.exists()]
        for path in missing:
            logger.warning("Could not open blocks file %s", path)
        if files:
            loader = BlockLoader(core.chain, self._stop.is_set)
            loader.load(path for path in files if path not in missing)

    def _say(self, message: str) -> None:
        self._methods.set_message(message)
        init_message(message)

    def _write_pid_file(self, stack: ExitStack) -> None:
        path = self._config.pid_file
        if path is None:
            return
        try:
            path.write_text(f"{os.getpid()}\n")
        except OSError as error:
            raise ConfigError(f"Unable to create the PID file '{path}': {error.strerror}") from None
        stack.callback(path.unlink, missing_ok=True)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()

    def _on_fatal(self, error: BaseException) -> None:
        self._fatal = error
        self._stop.set()


def run_node(config: Config, idle: IdleWorkers, on_ready: Callable[[], None] = lambda: None) -> int:
    """Run a node until it is told to stop and return its exit status. Raises ConfigError, in one line.

    `idle` holds API workers that were started before; `on_ready` is called once clients are answered.
    """
    # The lock comes before the log: a second node must not write into the first one's.
    lock = lock_data_directory(config)
    with Log(config) as log:
        try:
            return Node(config, log, lock, idle, on_ready).run()
        except ClarionError as error:
            # The command line tells it too, but a node in the background has no terminal.
            logger.error("%s", error)
            raise
