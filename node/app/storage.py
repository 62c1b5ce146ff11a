"""Opening everything that the node keeps on disk.

Owns: the order of opening and closing, and the locks on the data directory and the block files. Never: what is read or written.
"""

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from operator import attrgetter

from clarion.node.app.snapshot import open_snapshot
from clarion.node.chain.prune import PRUNED_KEY
from clarion.node.chain.recovery import holds_blocks
from clarion.node.chain.stores import ChainStores
from clarion.node.config import Config, create_directories
from clarion.node.errors import ConfigError
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.block_files import MAX_BLOCK_FILE_SIZE, BlockFiles
from clarion.node.storage.database import Database, open_database
from clarion.node.storage.directory_lock import DirectoryLock, lock_directory
from clarion.node.storage.rebuild_step import Rebuild
from clarion.node.storage.restore import is_restoring
from clarion.node.storage.rows import ChainCommit
from clarion.node.storage.undo_files import UndoFiles
from clarion.node.storage.xor_key import ensure_xor_key

FAST_PRUNE_FILE_SIZE = 0x10000
"""Size of block files with `-fastprune`, as in the reference."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenStorage:
    """The open database and files; `close` gives all of them and the lock back."""

    database: Database
    stores: ChainStores
    _cleanup: ExitStack

    def close(self) -> None:
        """Close files and connections, then let another node have the directory."""
        self._cleanup.close()


def lock_data_directory(config: Config, *, writes: bool = True) -> DirectoryLock:
    """Make the data directory and lock it against a second node. Raises ConfigError.

    The folder of the block files is locked too, as in the reference: with -blocksdir it may be another node's. Who only
    reads block files says so with `writes`, and may have them where they can't be written.
    """
    create_directories(config)
    return lock_directory(config.chain_dir, *([config.blocks_dir] if writes else []))


def open_storage(config: Config, params: ChainParams, lock: DirectoryLock, *, restoring: bool = False) -> OpenStorage:
    """Open (and make, where they are missing) database, block files and undo files. Raises ConfigError.

    Takes the lock over: it is released last. What a restore left unfinished is opened with `restoring` only.
    """
    with ExitStack() as stack:
        stack.callback(lock.release)
        database = open_database(
            config.database_url,
            config.chain_dir,
            params,
            lock=lock,
            rebuild=_wanted_rebuild(config),
            blocks_dir=config.blocks_dir,
        )
        stack.callback(database.close)
        ensure_xor_key(config.blocks_dir, wanted=config.blocks_xor)
        size = FAST_PRUNE_FILE_SIZE if config.fast_prune else MAX_BLOCK_FILE_SIZE
        block_files = BlockFiles(config.blocks_dir, params.magic, max_file_size=size)
        stack.callback(block_files.close)
        undo_files = UndoFiles(config.blocks_dir, params.magic)
        stack.callback(undo_files.close)
        if is_restoring(database) and not restoring:
            raise ConfigError(f"The database {database.name} is being restored: finish that with clarion db restore")
        if config.reindex or config.reindex_chainstate:
            _check_blocks_to_read(database, block_files, config, params)
            if database.snapshot_record() is not None:
                logger.info("[snapshot] deleting snapshot chainstate due to reindexing")
            database.begin_rebuild(keep_blocks=not config.reindex)
            if config.reindex:
                database.chain.commit(ChainCommit(meta={PRUNED_KEY: b""}))
            if config.prune_mib:
                _remove_unreachable(block_files)
        database.finish_wipe(undo_files)
        stores = ChainStores(database.chain, database.coins, block_files, undo_files)
        snapshot_coins = open_snapshot(database, params)
        if snapshot_coins is not None:
            stores.coins, stores.background = snapshot_coins, database.coins
        return OpenStorage(database, stores, stack.pop_all())


def _check_blocks_to_read(database: Database, block_files: BlockFiles, config: Config, params: ChainParams) -> None:
    """Refuse to give up a chain for block files that are not there: it would be lost, and its event log with it."""
    blocks = database.chain.count_blocks()
    if blocks > 1 and not block_files.numbers():
        raise ConfigError(
            f"{config.blocks_dir} holds no block files to build the chain from, but the chain database has {blocks} "
            "blocks, which would be lost: are -datadir, -blocksdir and -database those of one chain? To begin anew, empty "
            "the database"
        )
    if blocks > 1 and config.reindex and not holds_blocks(block_files, params):
        raise ConfigError(
            f"No block of {params.name} can be read in the files of {config.blocks_dir}, but the chain database has {blocks} "
            "blocks, which would be lost: is it another folder, or xor.dat not the one that the files were written with?"
        )
    if config.reindex_chainstate and not config.reindex:
        # The places of the blocks are taken from the database: it must be that of these files.
        stored = (row for row in database.chain.load_blocks() if row.data_size)
        last = max(stored, key=attrgetter("data_position"), default=None)
        if last is not None and (reason := block_files.fault_at(last.data_position, last.hash)):
            raise ConfigError(
                f"The last block that the chain database names, {hash_to_hex(last.hash)}, is not in its place: {reason}. Are "
                "-datadir, -blocksdir and -database those of one chain? To build it from the blocks that are there, start "
                "with -reindex"
            )


def _wanted_rebuild(config: Config) -> Rebuild:
    if config.reindex:
        return Rebuild.WIPE_ALL
    return Rebuild.WIPE_CHAINSTATE if config.reindex_chainstate else Rebuild.NONE


def _remove_unreachable(block_files: BlockFiles) -> None:
    """Delete the files behind a gap: without the pruned blocks nothing in them can be connected, as in the reference."""
    for position, number in enumerate(block_files.numbers()):
        if position != number:
            block_files.remove(number)
