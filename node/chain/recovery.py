"""Bringing the chain back at start: the tree from storage, the coins to the tip.

Owns: loading, the first block of a new chain, and closing the gap between coins and tip after a crash.
Never: new decisions; blocks that were connected before are taken back and applied again without running scripts.
"""

import logging

from clarion.node.chain.acceptance import Acceptance
from clarion.node.chain.activation import Activation
from clarion.node.chain.block_index import SEQUENCE_BEST_CHAIN_FROM_DISK, BlockIndexEntry
from clarion.node.chain.connector import Connector
from clarion.node.chain.journal import Journal
from clarion.node.chain.relinking import relink
from clarion.node.chain.snapshot.snapshots import Snapshots
from clarion.node.chain.state import ChainState
from clarion.node.chain.stores import ChainStores
from clarion.node.errors import StorageError
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.blk_reader import BlkFile
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.coin_store import CoinStore
from clarion.node.storage.rebuild_step import REBUILD_KEY, Rebuild
from clarion.node.storage.rows import BlockPosition
from clarion.node.storage.snapshot_record import RELINK_KEY

logger = logging.getLogger(__name__)


def find_genesis(block_files: BlockFiles, params: ChainParams) -> BlockPosition | None:
    """Return where genesis lies if it is the first block of the first block file, as it is in the reference's."""
    for number in block_files.numbers()[:1]:
        with BlkFile(block_files.path(number), params.magic) as file:
            for offset, length in file.records(skip_damage=True):
                if file.read(offset, length) == params.genesis.raw:
                    return BlockPosition(number, offset, length)
                return None
    return None


def holds_blocks(block_files: BlockFiles, params: ChainParams) -> bool:
    """Return whether there is any block but genesis, which a node that was killed at its first start leaves alone."""
    for number in block_files.numbers():
        with BlkFile(block_files.path(number), params.magic) as file:
            for offset, length in file.records(skip_damage=True):
                if length != len(params.genesis.raw) or file.read(offset, length) != params.genesis.raw:
                    return True
    return False


class Recovery:
    """Fills an empty `ChainState`."""

    def __init__(
        self,
        state: ChainState,
        acceptance: Acceptance,
        connector: Connector,
        activation: Activation,
        journal: Journal,
        snapshots: Snapshots,
    ) -> None:
        self._state = state
        self._acceptance = acceptance
        self._connector = connector
        self._activation = activation
        self._journal = journal
        self._snapshots = snapshots

    def load(self, stores: ChainStores) -> None:
        """Load the tree and the active chain, make genesis where there is none, and bring the coins to the tip.

        Raises StorageError if the store contradicts itself or needs data that is gone.
        """
        state = self._state
        step = Rebuild(stores.chain.read_meta(REBUILD_KEY) or b"")
        self._acceptance.rebuilding = step is not Rebuild.NONE
        state.importing = state.importing or self._acceptance.rebuilding
        state.index.load(stores.chain.block_pages(), stores.chain.count_blocks())
        state.active.load(stores.chain.active_pages(), SEQUENCE_BEST_CHAIN_FROM_DISK)
        if stores.chain.read_meta(RELINK_KEY):
            self._relink()
        self._journal.reset()
        self._snapshots.resume()
        self._recover_files(stores, step)
        if state.active.height < 0:
            self._make_genesis(find_genesis(stores.block_files, state.params) if step is Rebuild.INDEX else None)
        self._rank()
        self._recover_coins(stores.coins)
        state.update_initial_download()

    def _relink(self) -> None:
        """Count transactions again: below a snapshot that is not used any more, blocks may be missing."""
        state = self._state
        with state.lock:
            for entry in relink(state.index):
                state.mark_dirty(entry)
            self._journal.settings[RELINK_KEY] = b""

    def _recover_files(self, stores: ChainStores, step: Rebuild) -> None:
        """Cut off what a crash tore behind the last commit. Raises StorageError if index and files are not a pair."""
        if step is Rebuild.INDEX:
            # The index does not know yet what the files hold: nothing is cut, and new blocks go to a new file.
            stores.block_files.recover(None)
            return
        index = self._state.index
        last = index.last_block()
        self._check_pair(stores.block_files, last)
        unnamed = stores.block_files.recover(None if last is None else last.data_position)
        torn = unnamed.torn_bytes + stores.undo_files.recover(index.last_undo())
        if torn:
            logger.info("Cut %d bytes that no commit names off the block and undo files", torn)
        if unnamed.blocks:
            logger.warning(
                "%d blocks in %s are not in the chain database: they were not committed before a crash, or the database "
                "is an older copy or another's. They are kept; -reindex takes them in.",
                unnamed.blocks,
                stores.block_files.folder,
            )

    def _check_pair(self, block_files: BlockFiles, last: BlockIndexEntry | None) -> None:
        """Nearly always the wrong folder or database: to go on would leave a chain behind that nobody may miss yet."""
        folder = block_files.folder
        if last is None and holds_blocks(block_files, self._state.params):
            raise StorageError(
                f"{folder} holds blocks, but the chain database is empty: are -datadir, -blocksdir and -database those "
                "of one chain? To build the chain from these blocks, start with -reindex"
            )
        if last is not None and not block_files.numbers():
            raise StorageError(
                f"Error loading block database: {folder} holds no block files, but the chain database has "
                f"{self._state.active.height + 1} blocks: are -datadir, -blocksdir and -database those of one chain?"
            )
        if last is not None and (reason := block_files.fault_at(last.data_position, last.hash)):
            # Before anything is cut or appended behind it.
            raise StorageError(
                f"Corrupted block database detected: the last block that the chain database names, {hash_to_hex(last.hash)}, "
                f"is not in its place: {reason}. Either it is damaged, or -datadir, -blocksdir and -database are not those of "
                "one chain. To build the chain from the blocks that are there, start with -reindex"
            )

    def _make_genesis(self, position: BlockPosition | None) -> None:
        """Store genesis, unless it lies at `position` or is in the index already, and connect it."""
        state = self._state
        genesis = state.params.genesis
        with state.lock:
            entry = state.index.add(genesis.header)
            state.add_header(entry)
        if not entry.has_data:
            self._acceptance.store(genesis, entry, position)
        with state.lock:
            state.try_add_candidate(entry)
        # The reference connects genesis while it still counts as loading blocks.
        importing, state.importing = state.importing, True
        self._activation.activate_best_chain(genesis)
        state.importing = importing
        self._journal.commit()

    def _rank(self) -> None:
        state = self._state
        state.best_invalid = state.index.best_failed()
        state.recalculate_best_header()
        if self._acceptance.rebuilding:
            state.candidates.add(state.active.tip)
        else:
            state.add_candidates()
        for entry in state.index.unlinked(state.snapshot_base):
            assert entry.prev is not None, "genesis is linked once it is stored"
            state.unlinked.setdefault(entry.prev.hash, []).append(entry)

    def _recover_coins(self, coin_store: CoinStore) -> None:
        state = self._state
        at = self._coins_entry(coin_store)
        if at is state.active.tip:
            return
        fork = state.active.find_fork(at)
        assert fork is not None
        logger.info(
            "Recovering coins from height %d over %d to the tip at %d", at.height, fork.height, state.active.height
        )
        while at is not fork:
            self._connector.undo_coins(at)
            assert at.prev is not None
            at = at.prev
        while (following := state.active.next(at)) is not None:
            self._connector.reconnect(following)
            at = following
            if state.coins.size_bytes > state.options.cache_bytes:
                state.coins.flush(at.hash)
        state.coins.flush(at.hash)

    def _coins_entry(self, coin_store: CoinStore) -> BlockIndexEntry:
        tip = coin_store.tip()
        if tip is None:
            genesis = self._state.active.at(0)
            assert genesis is not None
            return genesis
        entry = self._state.index.get(tip)
        if entry is None:
            raise StorageError(f"the coins belong to block {hash_to_hex(tip)}, which is not in the block index")
        return entry
