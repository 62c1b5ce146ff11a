"""`clarion api`: JSON-RPC and REST from a node's database and block files, without the node.

Owns: the run from start to exit status. Never: writing to what it reads.
"""

import logging
import signal
import tempfile
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import FrameType

from clarion import __version__
from clarion.api.idle_worker import IdleWorkers
from clarion.api.rpc.reader_methods import ReaderMethods
from clarion.node.app.api import serve
from clarion.node.config import Config, params_of
from clarion.node.errors import ConfigError, StorageError
from clarion.node.log import Log, log_start
from clarion.node.params.chain_params import ChainParams
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.index_store import IndexReader, IndexSnapshot
from clarion.node.storage.location import locate
from clarion.plugins.indexes import build_indexes

logger = logging.getLogger(__name__)


class IndexReaders:
    """The indexes that the options name, by their public names."""

    def __init__(self, config: Config, stack: ExitStack) -> None:
        """Open them. Raises ConfigError for one that the database does not have."""
        location = locate(config.database_url, config.chain_dir)
        self._readers: dict[str, IndexReader] = {}
        for index in build_indexes(config):
            reader = IndexReader(location, config.chain_dir, index.store_name)
            stack.callback(reader.close)
            self._readers[index.name] = reader
            try:
                with reader.snapshot() as view:
                    view.tip()
            except StorageError as error:
                raise ConfigError(f"The database has no {index.name}: start the node with it first ({error})") from None

    @property
    def names(self) -> frozenset[str]:
        """Their public names."""
        return frozenset(self._readers)

    def snapshot(self, name: str) -> AbstractContextManager[IndexSnapshot]:
        """A consistent view of one of them."""
        return self._readers[name].snapshot()


def run_api_reader(config: Config, idle: IdleWorkers, on_ready: Callable[[], None]) -> int:
    """Serve until told to stop and return the exit status. Raises ConfigError, in one line.

    `idle` holds API workers that were started before; `on_ready` is called once clients are answered.
    """
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    params = params_of(config)
    try:
        config.chain_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"Cannot create data directory '{config.chain_dir}': {error.strerror}") from None
    with Log(config), ExitStack() as stack:
        log_start(config, __version__)
        _start(config, params, stop.set, stack, idle)
        on_ready()
        logger.info("Serving the API from the database, without a node")
        stop.wait()
        logger.info("Shutdown: In progress...")
    return 0


def _start(
    config: Config, params: ChainParams, request_stop: Callable[[], None], stack: ExitStack, idle: IdleWorkers
) -> None:
    reader = ChainReader(config.database_url, config.chain_dir, params, blocks_dir=config.blocks_dir)
    stack.callback(reader.close)
    with reader.snapshot() as snapshot:
        if snapshot.tip() is None:
            raise ConfigError("The database has no block yet: start a node on it first")
    indexes = IndexReaders(config, stack)
    methods = ReaderMethods(reader, params, indexes.snapshot, request_stop, indexes.names)
    # Not the node's own folder, where its control socket is.
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="api-of-clarion-")))
    serve(config, params, methods, indexes.names, stack, idle, folder / "control.sock")
    stack.callback(methods.end_waiting)
