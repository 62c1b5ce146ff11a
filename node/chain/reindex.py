"""Running a rebuild of the chain: the block files into the index, then the blocks of the index into the coins.

Owns: the order of the steps, reading ahead of the chain thread, the words in the log. Never: validation.
Runs on a thread of its own. It can be interrupted or killed at any moment; the next start goes on with it.
"""

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.block_scan import BlockScan, FoundBlock
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.service import ChainService
from clarion.node.errors import BlockFileError, DecodeError
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.rebuild_step import Rebuild as Step
from clarion.node.storage.rows import BlockPosition

MAX_LINES = 20
"""Refused blocks that get a line of their own."""

QUEUED = 16
"""Blocks that may wait for the chain thread."""

COMMIT_BLOCKS = 1000
"""Blocks of the index that one commit writes."""

PATH_BLOCKS = 2000
"""Blocks that are lined up at a time for connecting."""

logger = logging.getLogger(__name__)


class Reindexer:
    """Brings a begun rebuild to its end."""

    def __init__(self, service: ChainService, block_files: BlockFiles, interrupted: Callable[[], bool]) -> None:
        self._service = service
        self._rebuild = service.manager.rebuild
        self._block_files = block_files
        self._interrupted = interrupted
        self._queued: dict[BlockHash, None] = {}
        """The blocks that were handed over last: the index may not have them yet."""
        self._handed_over: deque[tuple[BlockPosition, Future[BlockOutcome]]] = deque()
        self._refused = 0

    def run(self) -> bool:
        """Do what is left of the rebuild, if there is one. Returns False if it was interrupted. Raises StorageError."""
        step = self._service.submit(self._rebuild.step).result()
        if step is Step.NONE:
            return True
        manager = self._service.manager
        self._service.submit(manager.set_importing, True).result()
        try:
            if step is Step.INDEX and not self._index_files():
                return False
            if not self._connect():
                return False
            self._service.submit(self._rebuild.finish).result()
            logger.info("Reindexing finished")
            return True
        finally:
            self._service.submit(manager.set_importing, False).result()

    def _index_files(self) -> bool:
        numbers = self._block_files.numbers()
        params = self._service.manager.state.params
        scan = BlockScan(
            [self._block_files.path(number) for number in numbers],
            params.magic,
            self._is_known,
            params.genesis.hash,
            interrupted=self._interrupted,
        )
        scan.on_file = lambda file: logger.info(
            "Reindexing block file blk%05d.dat (%d%% complete)...", numbers[file], file * 100 // len(numbers)
        )
        try:
            for count, found in enumerate(scan.blocks(), 1):
                self._index_block(scan, found, numbers[found.file])
                if count % COMMIT_BLOCKS == 0:
                    self._service.submit(self._service.manager.commit).result()
                    self._queued.clear()
        finally:
            scan.close()
        if self._interrupted():
            logger.info("Interrupt requested. Exit reindexing.")
            return False
        while self._handed_over:
            self._settle()
        if self._refused:
            logger.warning(
                "%d blocks in the block files are damaged or break a rule, and are left out with what builds on them until "
                "a peer sends them",
                self._refused,
            )
        if scan.waiting:
            logger.warning("%d blocks have no known parent (%s)", scan.waiting, scan.first_waiting())
        self._service.submit(self._rebuild.end_index).result()
        return True

    def _is_known(self, block_hash: BlockHash) -> bool:
        return block_hash in self._queued or self._service.manager.lookup(block_hash) is not None

    def _index_block(self, scan: BlockScan, found: FoundBlock, number: int) -> None:
        entry = self._service.manager.lookup(found.hash)
        if entry is not None and entry.has_data:
            return
        position = BlockPosition(number, found.offset, found.length)
        try:
            raw = scan.read(found)
        except BlockFileError as error:
            self._refuse(position, found.hash, f"can't be read: {error}")
            return
        self._service.wait_for_room(QUEUED)
        self._queued[found.hash] = None
        try:
            block = Block.parse(raw)
        except DecodeError as error:
            self._refuse(position, found.hash, f"can't be decoded: {error}")
            self._service.submit(self._rebuild.index_header, BlockHeader.parse(raw))
            return
        self._handed_over.append((position, self._service.submit(self._rebuild.index, block, position)))
        while self._handed_over and self._handed_over[0][1].done():
            self._settle()

    def _settle(self) -> None:
        position, future = self._handed_over.popleft()
        outcome = future.result()
        if outcome.invalid is not None:
            self._refuse(position, outcome.hash, f"refused: {outcome.invalid}")

    def _refuse(self, position: BlockPosition, block_hash: BlockHash, reason: str) -> None:
        self._refused += 1
        if self._refused <= MAX_LINES:
            path = self._block_files.path(position.file)
            logger.warning("%s, offset %d: block %s %s", path, position.offset, hash_to_hex(block_hash), reason)

    def _connect(self) -> bool:
        while path := self._service.submit(self._rebuild.path, PATH_BLOCKS).result():
            for entry in path:
                if self._interrupted():
                    logger.info("Interrupt requested. Exit reindexing.")
                    return False
                self._connect_block(entry)
        return True

    def _connect_block(self, entry: BlockIndexEntry) -> None:
        try:
            block = Block.parse(self._block_files.read(entry.data_position))
        except DecodeError as error:
            raise BlockFileError(f"block {hash_to_hex(entry.hash)} in file {entry.file}: {error}") from error
        self._service.wait_for_room(QUEUED)
        self._service.submit(self._rebuild.connect, entry, block)
