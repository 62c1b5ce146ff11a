"""`clarion db`: check, dump and restore a chain that no node is running on.

Owns: the run from start to exit status. Never: what is checked, or a dump's contents.
"""

import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

from clarion.node.app.storage import OpenStorage, lock_data_directory, open_storage
from clarion.node.chain.audit import Audit
from clarion.node.config import Config, params_of
from clarion.node.errors import ConfigError
from clarion.node.log import Log
from clarion.node.params.chain_params import ChainParams
from clarion.node.progress import show_progress
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.dump import Dump
from clarion.node.storage.dump_file import DumpReader
from clarion.node.storage.location import locate
from clarion.node.storage.restore import Restore

MAX_LINES = 50
"""Problems that are shown one by one."""

AGAIN = "Interrupted: run the same command again to go on"

logger = logging.getLogger(__name__)


def run_db(config: Config, action: str, files: Sequence[Path]) -> int:
    """Run `clarion db <action>` and return the exit status: 0 only if it is done and nothing was found.

    Raises ConfigError if a node is running or the file is not what it must be, StorageError if storage fails.
    """
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    params = params_of(config)
    if action == "check":
        return _check(config, params, stop.is_set)
    if action == "dump":
        return _dump(config, params, files[0], stop.is_set)
    return _restore(config, params, files[0], stop.is_set)


def _check(config: Config, params: ChainParams, interrupted: Callable[[], bool]) -> int:
    _require_chain(config, params)
    lock = lock_data_directory(config, writes=False)
    try:
        reader = ChainReader(config.database_url, config.chain_dir, params, blocks_dir=config.blocks_dir)
        with closing(reader):
            audit = Audit(reader, params, interrupted)
            with show_progress("Checking", audit.total_bytes(), "blocks") as progress:
                found = audit.run(progress.advance)
    finally:
        lock.release()
    for line in found[:MAX_LINES]:
        print(f"Error: {line}", file=sys.stderr)
    if len(found) > MAX_LINES:
        print(f"Error: and {len(found) - MAX_LINES} more", file=sys.stderr)
    print(f"{audit.summary()}: {len(found) or 'no'} {'inconsistency' if len(found) == 1 else 'inconsistencies'}")
    if interrupted():
        print("Interrupted: what was not reached was not checked")
        return 1
    return 1 if found else 0


def _require_chain(config: Config, params: ChainParams) -> None:
    """Raise ConfigError where there is no chain to read, before anything is made there."""
    if not config.chain_dir.is_dir():
        raise ConfigError(f"No chain here: the data directory {config.chain_dir} does not exist")
    location = locate(config.database_url, config.chain_dir)
    if not location.is_made():
        raise ConfigError(f"No chain here: {location.describe('chain')} does not exist")
    if not location.is_sqlite:
        ChainReader(config.database_url, config.chain_dir, params, blocks_dir=config.blocks_dir).close()


@contextmanager
def _open(config: Config, params: ChainParams, *, restoring: bool) -> Iterator[OpenStorage]:
    if config.reindex or config.reindex_chainstate:
        raise ConfigError("-reindex and -reindex-chainstate are for the node")
    lock = lock_data_directory(config)
    with Log(config), closing(open_storage(config, params, lock, restoring=restoring)) as storage:
        yield storage


def _dump(config: Config, params: ChainParams, path: Path, interrupted: Callable[[], bool]) -> int:
    _require_chain(config, params)
    with _open(config, params, restoring=False) as storage:
        stores = storage.stores
        dump = Dump(storage.database, stores.block_files, stores.undo_files, params, interrupted)
        with show_progress("Dumping", dump.total_bytes(), "blocks") as progress:
            done = dump.write(path, progress.advance)
    print(f"Dumped to {path}" if done else AGAIN)
    return 0 if done else 1


def _restore(config: Config, params: ChainParams, path: Path, interrupted: Callable[[], bool]) -> int:
    with DumpReader(path, params) as dump, _open(config, params, restoring=True) as storage:
        stores = storage.stores
        restore = Restore(dump, storage.database, stores.block_files, stores.undo_files, interrupted)
        with show_progress("Restoring", dump.size, "blocks") as progress:
            done = restore.run(progress.advance)
    print(f"Restored {path}" if done else AGAIN)
    return 0 if done else 1
