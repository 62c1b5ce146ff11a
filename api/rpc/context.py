"""What RPC methods are given: the node's parts in the node process, the database snapshot in an API process.

Owns: the two contexts and the protocols of their parts that other packages implement. Never: building them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from clarion.api.render.block_cache import BlockCache

if TYPE_CHECKING:
    from clarion.api.settings import ApiSettings
    from clarion.node.chain.clock import Clock
    from clarion.node.chain.indexes.indexes import Indexes
    from clarion.node.chain.prune import Pruner
    from clarion.node.chain.service import ChainService
    from clarion.node.chain.snapshot.loading import SnapshotLoader
    from clarion.node.chain.stores import ChainStores
    from clarion.node.config import Config
    from clarion.node.mempool.fees.estimator import FeeEstimator
    from clarion.node.mempool.service import MempoolService
    from clarion.node.mining.miner import Miner
    from clarion.node.mining.template_cache import TemplateCache
    from clarion.node.net.service import NetService
    from clarion.node.params.chain_params import ChainParams
    from clarion.node.scheduler import Scheduler
    from clarion.node.storage.chain_reader import ChainReader
    from clarion.node.storage.index_store import IndexReader
    from clarion.notifiers.runner import EventsRunner

FACTS_BYTES = 32 << 20
"""What each process keeps of blocks' txids, merkle trees and statistics: of some 80 full blocks."""


class CategoryLog(Protocol):
    """The log's categories, which `logging` shows and changes."""

    def active(self) -> dict[str, bool]:
        """Return every category with whether it is logged."""
        ...

    def change(self, include: Iterable[str], exclude: Iterable[str]) -> None:
        """Switch categories on, then others off. Raises ConfigError for an unknown one."""
        ...


class ScanStates(Protocol):
    """Whoever keeps the state of the scans."""

    @property
    def scan(self) -> ScanState:
        """The one `scantxoutset`."""
        ...

    @property
    def filter_scan(self) -> ScanState:
        """The one `scanblocks`."""
        ...


@dataclass
class NodeContext:
    """The parts of the running node that NODE methods use. Built by `node.app`.

    `started_at` is a reading of `time.monotonic()`; `last_event_seq` returns the number of the event log's last row,
    durable or not; `request_stop` asks the node to shut down and returns at once.
    """

    params: ChainParams
    config: Config
    chain: ChainService
    mempool: MempoolService
    fee_estimator: FeeEstimator | None
    """None: fees are not estimated (-blocksonly)."""
    network: NetService
    clock: Clock
    events: EventsRunner
    started_at: float
    request_stop: Callable[[], None]
    last_event_seq: Callable[[], int]
    blocks_dir: Path
    stores: ChainStores
    snapshots: SnapshotLoader
    pruner: Pruner
    miner: Miner
    templates: TemplateCache
    scheduler: Scheduler
    indexes: Indexes
    stopping: Callable[[], bool] = lambda: False
    """Whether the node is shutting down: long work gives up."""
    log: CategoryLog | None = None
    warnings: Callable[[], list[str]] = list
    """Returns the texts that the operator should know."""
    scan: ScanState = field(default_factory=lambda: ScanState())
    filter_scan: ScanState = field(default_factory=lambda: ScanState())

    def warnings_json(self) -> list[str] | str:
        """Return the warnings as answers show them: a list, or the last one with -deprecatedrpc=warnings."""
        if "warnings" in self.config.deprecated_rpc:
            return ["", *self.warnings()][-1]
        return self.warnings()


class NodeLink(Protocol):
    """The API's way to the node: the control channel, or a direct call in one process."""

    def connect(self) -> None:
        """Get ready to call, in the event loop that will."""
        ...

    async def call(self, method: str, params: Sequence[Any]) -> bytes:
        """Run a NODE method and return its result as JSON. Raises RpcError, -28 while the node starts."""
        ...

    def call_raw(self, method: str, params: Sequence[Any]) -> bytes:
        """Do the same from a thread that isn't the event loop's."""
        ...

    def call_blocking(self, method: str, params: Sequence[Any]) -> Any:
        """Do the same from such a thread and return the decoded result."""
        ...

    async def close(self) -> None:
        """Give the connection up."""
        ...


@dataclass
class ReaderContext:
    """What READER methods use: the database and block files as one snapshot at a time, and the node by its link.

    The reader is opened at first use, which is after the node is ready: before that the database may not exist.
    """

    settings: ApiSettings
    node: NodeLink
    open_reader: Callable[[], ChainReader]
    _reader: ChainReader | None = None
    _indexes: dict[str, IndexReader] = field(default_factory=dict)
    _opening: threading.Lock = field(default_factory=threading.Lock)
    rendered: BlockCache = field(init=False)
    """Answers about blocks, as far as they never change."""
    facts: BlockCache = field(init=False)
    """What answers about blocks are made of: small things that take the whole block to find."""
    active: dict[int, tuple[str, float]] = field(default_factory=dict)
    """Method and start (a `time.monotonic()` reading) of every call that runs in this process."""

    def __post_init__(self) -> None:
        self.rendered = BlockCache(self.settings.cache_bytes)
        self.facts = BlockCache(FACTS_BYTES if self.settings.cache_bytes else 0)

    @property
    def params(self) -> ChainParams:
        """The parameters of the node's network."""
        return self.settings.params

    @property
    def reader(self) -> ChainReader:
        """The reader of the node's database and block files."""
        if self._reader is None:
            with self._opening:
                if self._reader is None:
                    self._reader = self.open_reader()
        return self._reader

    def index(self, store_name: str) -> IndexReader:
        """Return the reader of an index's database. Raises StorageError, later, if the node has no such index."""
        with self._opening:
            reader = self._indexes.get(store_name)
            if reader is None:
                # Imported here: nobody who has no index pays for it.
                from clarion.node.storage.index_store import IndexReader
                from clarion.node.storage.location import locate

                location = locate(self.settings.database_url, self.settings.chain_dir)
                reader = self._indexes[store_name] = IndexReader(location, self.settings.chain_dir, store_name)
            return reader

    def wait_for_index(self, name: str, store_name: str) -> bool:
        """Wait until the index holds the present tip; false if it is still being built, or not there.

        (The reference's BlockUntilSyncedToCurrentChain.) Called from a thread.
        """
        if name not in self.settings.indexes:
            return False
        with self.reader.snapshot() as snapshot:
            tip = snapshot.tip()
        with self.index(store_name).snapshot() as view:
            reached = view.tip()
        if tip is not None and reached is not None and reached.hash == tip.hash:
            return True
        return bool(self.node.call_blocking("_index_synced", [name]))

    def close(self) -> None:
        """Close the databases."""
        for index in self._indexes.values():
            index.close()
        self._indexes.clear()
        if self._reader is not None:
            self._reader.close()
            self._reader = None


class ScanState:
    """The one `scantxoutset`, or `scanblocks`, that may run at a time on this node, whichever API process runs it.

    Lives in the node, so that status and abort find it from any process. Thread-safe.
    """

    SILENCE_S = 60.0
    """A scan that says nothing for this long has died with its process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_word: float | None = None
        self._progress = 0
        self._height = 0
        self._abort = False

    def _running(self) -> bool:
        return self._last_word is not None and time.monotonic() - self._last_word < self.SILENCE_S

    def begin(self) -> bool:
        """Reserve the scan; False if one runs."""
        with self._lock:
            if self._running():
                return False
            self._last_word, self._progress, self._abort = time.monotonic(), 0, False
            return True

    def report(self, progress: int, height: int = 0) -> bool:
        """Note the percentage done and the height reached; True if the scan is to be given up."""
        with self._lock:
            self._last_word, self._progress, self._height = time.monotonic(), progress, height
            return self._abort

    def end(self) -> None:
        """Release the scan."""
        with self._lock:
            self._last_word = None

    def status(self) -> int | None:
        """Return the percentage done, None if no scan runs."""
        with self._lock:
            return self._progress if self._running() else None

    @property
    def height(self) -> int:
        """The height that the scan has reached, for one of blocks."""
        with self._lock:
            return self._height

    def abort(self) -> bool:
        """Ask a running scan to give up; False if none runs."""
        with self._lock:
            running = self._running()
            self._abort = running
            return running
