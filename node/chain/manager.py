"""The chain manager: the one door to the chain's state.

Owns: the composition of this package and its public calls. Never: threads (see `service`), clients' formats.
All calls that change something run on the chain thread. The others may be made by any thread: they take the chain
lock for as long as it takes to look at memory.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from clarion.node.chain.acceptance import Acceptance
from clarion.node.chain.activation import Activation
from clarion.node.chain.active_chain import ChainView
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.block_scripts import ScriptChecker
from clarion.node.chain.clock import Clock
from clarion.node.chain.coins_cache import CoinsCache
from clarion.node.chain.connector import Connector
from clarion.node.chain.journal import Journal
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.rebuild import Rebuild
from clarion.node.chain.recovery import Recovery
from clarion.node.chain.snapshot.snapshots import Snapshots
from clarion.node.chain.state import ChainOptions, ChainState
from clarion.node.chain.stores import ChainStores
from clarion.node.chain.tip_watch import TipWatch
from clarion.node.chain.verdicts import Verdicts
from clarion.node.consensus.block_check import check_block
from clarion.node.errors import BlockInvalid, SnapshotError
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint

logger = logging.getLogger(__name__)


class ChainManager:
    """Accepts headers and blocks, keeps the best chain connected and says what is where."""

    def __init__(
        self,
        params: ChainParams,
        stores: ChainStores,
        checker: ScriptChecker,
        options: ChainOptions,
        clock: Clock | None = None,
    ) -> None:
        self._stores = stores
        # Once the chain is synced, little of the cache waits for a flush: half of it may hold what the mempool spends.
        coins = CoinsCache(stores.coins, options.cache_bytes // 2)
        self.state = ChainState(params=params, options=options, clock=clock or Clock(), coins=coins)
        self.journal = Journal(self.state, stores)
        self._acceptance = Acceptance(self.state, stores.block_files)
        self._connector = Connector(self.state, self.journal, stores, checker)
        self._activation = Activation(self.state, self._acceptance, self._connector, self.journal)
        self.rebuild = Rebuild(self.state, self._acceptance, self._activation, self.journal, stores)
        self.snapshots = Snapshots(self.state, self._acceptance, self._activation, self.journal, stores, checker)
        self._verdicts = Verdicts(self.state, self._acceptance, self._connector, self._activation, self.journal)

    # --- the chain thread -------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Bring the chain back from storage, or make a new one. Call once, first. Raises StorageError."""
        recovery = Recovery(
            self.state, self._acceptance, self._connector, self._activation, self.journal, self.snapshots
        )
        recovery.load(self._stores)

    def process_new_block(self, block: Block, *, force: bool = True, min_pow_checked: bool = True) -> BlockOutcome:
        """Check, store and, if it leads to a better chain, connect a block. The outcome says what became of it.

        `force`: the block was asked for. Nothing is raised for an invalid block; StorageError is for our own faults.
        """
        outcome = BlockOutcome(block.hash)
        try:
            # A failure here is not remembered: the bytes may have been mutated in a way that leaves the hash as it is.
            check_block(block, self.state.params)
            _, outcome.new = self._acceptance.accept_block(block, requested=force, min_pow_checked=min_pow_checked)
        except BlockInvalid as invalid:
            logger.error("ProcessNewBlock: AcceptBlock FAILED (%s)", invalid)
            outcome.checked = True
            outcome.invalid = invalid
            return outcome
        outcome.accepted = True
        self._activation.activate_best_chain(block, outcome)
        return outcome

    def process_new_headers(
        self, headers: Iterable[BlockHeader], *, min_pow_checked: bool = True
    ) -> BlockIndexEntry | None:
        """Accept headers in order and return the last one's entry. Raises BlockInvalid at the first bad one."""
        entry = None
        for header in headers:
            entry = self._acceptance.accept_header(header, min_pow_checked=min_pow_checked)
        return entry

    def activate_best_chain(self) -> None:
        """Connect whatever is stored and better than the tip."""
        self._activation.activate_best_chain()

    def invalidate_block(self, entry: BlockIndexEntry) -> None:
        """Leave `entry` and all that builds on it, and remember them as invalid. Nothing happens to genesis.

        Raises SnapshotError for a block that can't be undone since the history below a snapshot is not validated yet.
        """
        base = self.state.snapshot_base
        if base is not None and base.descends_from(entry):
            raise SnapshotError(
                f"Block is not above the UTXO snapshot at height {base.height}, whose history is still being validated"
            )
        self._activation.settle()
        self._verdicts.invalidate(entry)

    def reconsider_block(self, entry: BlockIndexEntry) -> None:
        """Forget that `entry`, its ancestors or its descendants were found invalid."""
        self._activation.settle()
        self._verdicts.reconsider(entry)

    def precious_block(self, entry: BlockIndexEntry) -> None:
        """Prefer `entry` among tips of equal work."""
        self._activation.settle()
        self._verdicts.make_precious(entry)

    def get_coin(self, outpoint: OutPoint) -> tuple[Coin | None, BlockIndexEntry]:
        """Return (coin or None if it is spent or never was, the tip that it was asked at)."""
        self._activation.settle()
        return self.state.coins.get(outpoint), self.state.active.tip

    def set_importing(self, importing: bool) -> None:
        """Say whether blocks are being loaded from files: the node stays in initial download while they are."""
        self._activation.settle()
        self.state.importing = importing
        self.state.update_initial_download()

    @contextmanager
    def at_a_stretch(self) -> Iterator[None]:
        """Commit the blocks that are processed meanwhile together, unless the pool holds anything."""
        self.state.at_a_stretch = True
        try:
            yield
        finally:
            self.state.at_a_stretch = False

    def commit(self) -> None:
        """Make everything done so far durable and tell it. Raises StorageError."""
        self._activation.settle()
        self.journal.commit()

    def commit_due(self) -> None:
        """Do so as far as it can be done without waiting for scripts; where that is not enough, wait for them."""
        if not self._activation.commit_settled():
            self.commit()

    def settled_tip(self) -> BlockIndexEntry:
        """Return the tip once no script check of it or its ancestors is open. Runs on the chain thread."""
        self._activation.settle()
        return self.state.active.tip

    def dry_run(self, block: Block, *, check_merkle: bool = True) -> None:
        """Check `block` as if it came on top of the tip, without proof of work and without keeping anything.

        Raises BlockInvalid (the reference's TestBlockValidity).
        """
        self._activation.settle()
        self._connector.dry_run(block, check_merkle=check_merkle)

    # --- any thread -------------------------------------------------------------------------------------------------

    @property
    def tip(self) -> BlockIndexEntry:
        """The tip of the active chain as of the last commit."""
        with self.state.lock:
            tip = self.state.told_tip
        assert tip is not None, "the chain is loaded first"
        return tip

    @property
    def validated_tip(self) -> BlockIndexEntry:
        """The last block up to which everything is validated, durably: the tip, unless it rests on a snapshot."""
        with self.state.lock:
            tip = self.state.validated_tip or self.state.told_tip
        assert tip is not None, "the chain is loaded first"
        return tip

    @property
    def view(self) -> ChainView:
        """The chain as of the last commit. Look at it under the chain lock together with the index."""
        return ChainView(self.tip)

    @property
    def tip_watch(self) -> TipWatch:
        """Tells when `tip` has moved."""
        return self.journal.tip_watch

    @property
    def initial_download(self) -> bool:
        """Whether the node still catches up (the reference's IsInitialBlockDownload)."""
        return self.state.initial_download

    def lookup(self, block_hash: BlockHash) -> BlockIndexEntry | None:
        """Return the entry of a known header, None if it is unknown."""
        with self.state.lock:
            return self.state.index.get(block_hash)
