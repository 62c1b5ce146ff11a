"""The door to the pool: other threads offer transactions here, and the pool changes on the chain thread.

Owns: how offers reach the chain thread, prioritisation, the stored pool's life. Never: the rules (see `accept`), clients'
formats.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from clarion.node.chain.service import ChainService
from clarion.node.mempool.accept.acceptor import Acceptor
from clarion.node.mempool.accept.result import AcceptResult, PackageResult
from clarion.node.mempool.block_updates import BlockUpdates
from clarion.node.mempool.change_log import ChangeLog
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.options import MempoolOptions
from clarion.node.mempool.persist import ImportOptions, dump_mempool, load_mempool
from clarion.node.mempool.pool import Mempool
from clarion.node.mempool.script_pool import ScriptPool
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.transaction import Transaction

MEMPOOL_FILE = "mempool.dat"


class MempoolService:
    """The pool with those who change it. Every method may be called from any thread but the chain's."""

    def __init__(self, chain: ChainService, pool: Mempool, acceptor: Acceptor, folder: Path) -> None:
        """`folder` is the network's data directory. From now on the chain tells the pool of its blocks."""
        self.chain = chain
        self.pool = pool
        self.acceptor = acceptor
        self.file = folder / MEMPOOL_FILE
        self.scripts: ScriptPool | None = None
        """Finds transactions by script, where somebody wants that."""
        state = chain.manager.state
        self.updates = state.pool = BlockUpdates(pool, state, self._readmit)

    def start(self) -> None:
        """Have the event log hear of every change, from an empty pool on. Call it once the chain is loaded."""
        self.chain.submit(self._start).result()

    @property
    def options(self) -> MempoolOptions:
        """The pool's settings."""
        return self.pool.options

    def accept(self, tx: Transaction, *, test: bool = False) -> AcceptResult:
        """Offer a transaction and return what came of it; with `test` it is only judged. Raises StorageError."""
        return self.acceptor.accept(tx, test=test)

    def accept_package(
        self, txs: Sequence[Transaction], *, test: bool = False, client_maxfeerate: FeeRate | None = None
    ) -> PackageResult:
        """Offer transactions that depend on each other and return what came of them. Raises StorageError."""
        return self.acceptor.accept_package(txs, test=test, client_maxfeerate=client_maxfeerate)

    def prioritise(self, txid: Txid, delta_sat: int) -> None:
        """Add to the fee that a transaction counts with, here or not."""
        self.chain.submit(self._prioritise, txid, delta_sat).result()

    def add_unbroadcast(self, txids: Sequence[Txid]) -> None:
        """Note that peers must hear of those of these transactions that are in the pool."""
        self.chain.submit(self._add_unbroadcast, txids).result()

    def broadcast_done(self, txid: Txid) -> None:
        """Note that a peer has asked for a transaction, if that is news. Returns at once."""
        if txid in self.pool.unbroadcast:
            self.chain.submit(self._remove_unbroadcast, txid)

    # --- the stored pool --------------------------------------------------------------------------------------------

    def load(self, interrupted: Callable[[], bool]) -> None:
        """Take the stored pool in, unless that is switched off. From then on the pool is stored when the node stops."""
        if self.options.persist:
            self.import_file(self.file, ImportOptions(), interrupted)
        with self.pool.lock:
            self.pool.load_tried = not interrupted()

    def import_file(self, path: Path, options: ImportOptions, interrupted: Callable[[], bool]) -> bool:
        """Take in what a stored pool holds; False if the file can't be read to its end or it was interrupted."""
        return load_mempool(self, path, options, interrupted)

    def accept_stored(self, tx: Transaction, time: int) -> bool:
        """Offer a transaction of a stored pool with the time at which it came; say whether it was taken in."""
        return self.acceptor.accept(tx, accept_time=time).valid

    def save(self) -> bool:
        """Store the pool; False if the file can't be written, which the log explains."""
        return dump_mempool(self.pool, self.file)

    def save_at_stop(self) -> None:
        """Store the pool if it is to outlive the node. Call it once nothing changes any more."""
        if self.options.persist and self.pool.load_tried:
            self.save()

    # --- the chain thread -------------------------------------------------------------------------------------------

    def _start(self) -> None:
        log = ChangeLog(self.chain.manager.journal)
        with self.pool.lock:
            log.reset(self.pool.sequence)
            self.pool.observers.append(log)

    def _prioritise(self, txid: Txid, delta_sat: int) -> None:
        with self.pool.lock:
            self.pool.prioritise(txid, delta_sat)

    def _add_unbroadcast(self, txids: Sequence[Txid]) -> None:
        with self.pool.lock:
            for txid in txids:
                self.pool.add_unbroadcast(txid)

    def _remove_unbroadcast(self, txid: Txid) -> None:
        with self.pool.lock:
            self.pool.remove_unbroadcast(txid)

    def _readmit(self, tx: Transaction) -> bool:
        return self.acceptor.accept_now(tx, accept_time=self.pool.clock.now(), bypass_limits=True).valid
