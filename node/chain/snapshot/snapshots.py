"""A snapshot's part in the chain: when one may be loaded, making it the active chain, and what its validation leads to.

Owns: the switches between the two chains, each one commit. Never: files of coins (see `loading`), threads (`validator`).
Everything runs on the chain thread.
"""

import logging

from clarion.node.chain.acceptance import Acceptance
from clarion.node.chain.activation import Activation
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.block_scripts import ScriptChecker
from clarion.node.chain.candidates import Candidates, work_key
from clarion.node.chain.coins_cache import CoinsCache
from clarion.node.chain.journal import Journal
from clarion.node.chain.snapshot.background import Background
from clarion.node.chain.state import ChainState
from clarion.node.chain.stores import ChainStores
from clarion.node.chain.tip_watch import TipWatch
from clarion.node.errors import SnapshotError, StorageError
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage.coin_store import CoinStore
from clarion.node.storage.snapshot_record import SNAPSHOT_KEY, SnapshotRecord, SnapshotState, decode_record

logger = logging.getLogger(__name__)


class Snapshots:
    """The snapshot that the chain starts from, if there is one."""

    def __init__(
        self,
        state: ChainState,
        acceptance: Acceptance,
        activation: Activation,
        journal: Journal,
        stores: ChainStores,
        checker: ScriptChecker,
    ) -> None:
        self._state = state
        self._acceptance = acceptance
        self._activation = activation
        self._journal = journal
        self._stores = stores
        self._checker = checker
        self._record: SnapshotRecord | None = None
        self.watch = TipWatch()
        """Tells when the validated tip below a snapshot has moved."""
        self.background: Background | None = None
        """The chain below the snapshot while it is validated."""

    @property
    def record(self) -> SnapshotRecord | None:
        """What the chain database says of the snapshot in use."""
        return self._record

    # --- start ------------------------------------------------------------------------------------------------------

    def resume(self) -> None:
        """Take up the snapshot of the last run, once the active chain is loaded. Raises StorageError."""
        self._record = record = decode_record(self._stores.chain.read_meta(SNAPSHOT_KEY))
        if record is None or record.state is not SnapshotState.UNVALIDATED:
            return
        state, store = self._state, self._stores.background
        assert store is not None, "whoever opens the storage opens the coins of both chains"
        base, tip_hash = state.index.get(record.base), store.tip()
        tip = state.index.get(tip_hash) if tip_hash is not None else state.index.get(state.params.genesis.hash)
        if base is None or base not in state.active or tip is None:
            raise StorageError(f"the chain database does not fit the snapshot of block {hash_to_hex(record.base)}")
        logger.info("[snapshot] validating the history below height %d from height %d on", base.height, tip.height)
        self._begin(base, store, tip)

    def _begin(self, base: BlockIndexEntry, store: CoinStore, tip: BlockIndexEntry) -> None:
        state = self._state
        self.background = Background(state, self._stores, self._checker, base, store, tip)
        with state.lock:
            state.snapshot_base = base
            state.validated_tip = tip

    # --- loading ----------------------------------------------------------------------------------------------------

    def find_base(self, block_hash: BlockHash, pool_size: int) -> BlockIndexEntry:
        """Return the block whose coins a snapshot holds, if one of it may be loaded now. Raises SnapshotError."""
        state = self._state
        if self._record is not None:
            raise SnapshotError("Can't activate a snapshot-based chainstate more than once")
        name = hash_to_hex(block_hash)
        if state.params.assume_utxo_of(block_hash) is None:
            heights = ", ".join(str(each.height) for each in state.params.assume_utxo)
            raise SnapshotError(
                f"assumeutxo block hash in snapshot metadata not recognized (hash: {name}). The following snapshot "
                f"heights are available: {heights}"
            )
        base = state.index.get(block_hash)
        if base is None:
            raise SnapshotError(
                f"The base block header ({name}) must appear in the headers chain. Make sure all headers are syncing, "
                "and call loadtxoutset again"
            )
        if base.failed:
            raise SnapshotError(f"The base block header ({name}) is part of an invalid chain")
        best = state.best_header
        if best is None or not best.descends_from(base):
            raise SnapshotError(
                "A forked headers-chain with more work than the chain with the snapshot base block header exists. "
                "Please proceed to sync without AssumeUtxo."
            )
        if pool_size:
            raise SnapshotError("Can't activate a snapshot when mempool not empty")
        return base

    def has_more_work(self, base: BlockIndexEntry) -> bool:
        """Whether a snapshot of `base` leads further than the active chain."""
        self._activation.settle()
        return work_key(base) > work_key(self._state.active.tip)

    def activate(self, base: BlockIndexEntry, store: CoinStore, load_id: bytes) -> None:
        """Make `base` the tip, with the coins of `store`, which are those that the parameters name.

        The chain up to now is validated on in silence. Durable on return. Raises StorageError.
        """
        state, journal, stores = self._state, self._journal, self._stores
        data = state.params.assume_utxo_of(base.hash)
        assert data is not None
        journal.commit()
        journal.flush()
        old_tip, old_store = state.active.tip, stores.coins
        fork = state.active.find_fork(base)
        assert fork is not None
        with state.lock:
            while state.active.tip is not fork:
                journal.disconnected(state.active.pop())
            state.active.lead_to(base)
            stores.coins, stores.background = store, old_store
            state.coins = CoinsCache(store, state.options.cache_bytes // 2)
            state.candidates = Candidates()
            self._acceptance.link_snapshot(base, data.chain_tx_count)
            state.update_initial_download()
        self._begin(base, old_store, old_tip)
        journal.tip_changed(fork, by_snapshot=True)
        self._note(SnapshotRecord(SnapshotState.UNVALIDATED, base.hash, load_id))
        with state.lock:
            state.add_candidates()
        logger.info("[snapshot] successfully activated snapshot %s", hash_to_hex(base.hash))
        self._activation.activate_best_chain()

    def _note(self, record: SnapshotRecord) -> None:
        self._record = record
        self._journal.settings[SNAPSHOT_KEY] = record.encode()
        self._journal.commit()

    # --- the history ------------------------------------------------------------------------------------------------

    def validated_to(self, tip: BlockIndexEntry) -> None:
        """Let others see how far the history is validated, once that is durable."""
        with self._state.lock:
            self._state.validated_tip = tip
        self.watch.tip_moved()

    def complete(self) -> None:
        """The history led to the same coins: from now on the chain is like any other."""
        state, record = self._state, self._record
        assert record is not None
        self._activation.settle()
        with state.lock:
            state.snapshot_base = state.validated_tip = None
            self.background = None
            state.add_candidates()
        self._note(SnapshotRecord(SnapshotState.VALIDATED, record.base, record.load_id))
        logger.info("[snapshot] snapshot beginning at %s has been fully validated", hash_to_hex(record.base))
        self._activation.activate_best_chain()
        self.watch.tip_moved()

    def give_up(self, reason: str) -> None:
        """The history does not lead to the snapshot: go back to the validated chain, durably, and end the node.

        Raises StorageError. The next start goes on from there, without the snapshot.
        """
        state, journal, background, record = self._state, self._journal, self.background, self._record
        assert background is not None
        assert record is not None
        self._activation.settle()
        height, validated = state.active.height, state.validated_tip
        assert validated is not None
        with state.lock:
            while state.active.height > background.base.height:
                journal.disconnected(state.active.pop())
            fork = state.active.find_fork(validated)
            assert fork is not None
            while state.active.tip is not fork:
                journal.unconnected(state.active.pop())
            state.active.lead_to(validated)
            # Nothing of the snapshot's coins may be written as those of this tip.
            state.coins, self._stores.coins = CoinsCache(background.store), background.store
            state.snapshot_base = state.validated_tip = None
        journal.tip_changed(fork, by_snapshot=True)
        journal.flusher.close()
        self._note(SnapshotRecord(SnapshotState.INVALID, record.base, record.load_id))
        raise StorageError(
            f"The snapshot at height {background.base.height} is wrong: {reason}. This means faulty hardware, or a program "
            f"that is not what it should be. The node stops and no longer uses what was built on the snapshot; the "
            f"chain goes back from height {height} to {validated.height}, where the next start goes on without it. The "
            "snapshot's coins are kept for whoever looks for the fault"
        )
