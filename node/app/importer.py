"""`clarion import`: load blk files into the chain and end.

Owns: the run from start to exit status. Never: reading files or validation.
"""

import logging
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from clarion.node.app.core import NodeCore
from clarion.node.app.storage import lock_data_directory
from clarion.node.chain.loader import BlockLoader
from clarion.node.chain.reindex import Reindexer
from clarion.node.config import Config
from clarion.node.log import Log
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.progress import show_progress
from clarion.node.storage.blk_reader import block_paths

SUBSCRIBER_GRACE_S = 0.5
"""Subscribers that wait for the ports retry every 100 ms; what is sent before they are back is lost to them."""

logger = logging.getLogger(__name__)


def run_import(config: Config, sources: Sequence[Path]) -> int:
    """Load the blocks of files and folders and return the exit status: 0 only if all of them are in the chain's data.

    What is damaged is skipped and told, as it is with the reference's -loadblock; the status is 1 then. Raises ConfigError if the node can't start, StorageError if its storage fails.
    """
    files = [path for source in sources for path in block_paths(source)]
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    lock = lock_data_directory(config)
    with Log(config):
        core = NodeCore(config, lock, on_fatal=lambda error: stop.set(), interrupted=stop.is_set, request_stop=stop.set)
        try:
            core.start()
            if config.zmq_notifiers:
                time.sleep(SUBSCRIBER_GRACE_S)
            return _load(core, files, stop)
        finally:
            core.stop()


def _load(core: NodeCore, files: Sequence[Path], stop: threading.Event) -> int:
    if not Reindexer(core.chain, core.storage.stores.block_files, stop.is_set).run():
        print("Interrupted: run the same command again, without -reindex, to go on")
        return 1
    loader = BlockLoader(core.chain, stop.is_set)
    total = sum(path.stat().st_size for path in files)
    with show_progress("Importing", total, "blocks") as progress:
        report = loader.load(files, progress.advance)
    core.chain.submit(core.manager.activate_best_chain).result()
    core.events.sync(core.last_seq)
    for line in [*report.lines, *report.faults]:
        print(f"Error: {line}", file=sys.stderr)
    tip = core.manager.tip
    print(f"{report.summary()}; tip {hash_to_hex(tip.hash)} at height {tip.height}")
    if stop.is_set():
        print("Interrupted: run the same command again to go on")
        return 1
    return 0 if report.complete else 1
