"""Loading blocks from blk files through the chain manager: `clarion import` and `-loadblock`.

Owns: reading ahead of the chain thread by a bounded number of blocks, and the account of what became of them.
Never: validation, showing progress. Runs on the caller's thread.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.service import ChainService
from clarion.node.errors import BlockFileError, DecodeError
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.blk_reader import scan_blocks

IN_FLIGHT = 16
"""Blocks that are read ahead of the chain thread: enough that it never waits, little enough memory."""

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with (bytes read, blocks handed over) since the last call."""


@dataclass(slots=True)
class LoadReport:
    """What became of the blocks of the loaded files; `refused` and `faults` hold one line of text each."""

    loaded: int = 0
    known: int = 0
    refused: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every block of every file is part of the chain's data now."""
        return not self.refused and not self.faults


class BlockLoader:
    """Feeds blk files to the chain thread."""

    def __init__(self, service: ChainService, interrupted: Callable[[], bool] = lambda: False) -> None:
        self._service = service
        self._interrupted = interrupted
        self._flying: deque[Future[BlockOutcome]] = deque()
        self.report = LoadReport()

    def load(self, files: Iterable[Path], progress: Progress = lambda done, blocks: None) -> LoadReport:
        """Load the files in order. A damaged file is loaded up to its fault; the next file follows.

        The node counts as in initial download meanwhile. Raises StorageError if our own storage fails.
        """
        manager = self._service.manager
        self._service.submit(manager.set_importing, True).result()
        try:
            for path in files:
                self._load_file(path, progress)
            while self._flying:
                self._settle()
        finally:
            self._service.submit(manager.set_importing, False).result()
        return self.report

    def _load_file(self, path: Path, progress: Progress) -> None:
        blocks = at = 0
        try:
            for offset, raw in scan_blocks(path, self._service.manager.state.params.magic):
                if self._interrupted():
                    return
                self._hand_over(path, offset, raw)
                blocks += 1
                end = offset + len(raw)
                progress(end - at, 1)
                at = end
        except (BlockFileError, OSError) as error:
            logger.error("%s", error)
            self.report.faults.append(str(error))
        logger.info("Loaded %d blocks from external file %s", blocks, path)

    def _hand_over(self, path: Path, offset: int, raw: bytes) -> None:
        try:
            block = Block.parse(raw)
        except DecodeError as error:
            raise BlockFileError(f"{path}: the block at offset {offset} can't be decoded: {error}") from error
        if block.hash == self._service.manager.state.params.genesis.hash:
            self.report.known += 1
            return
        self._flying.append(self._service.submit(self._service.manager.process_new_block, block))
        if len(self._flying) > IN_FLIGHT:
            self._settle()

    def _settle(self) -> None:
        outcome = self._flying.popleft().result()
        if outcome.invalid is not None:
            line = f"block {hash_to_hex(outcome.hash)} refused: {outcome.invalid}"
            logger.warning("%s", line)
            self.report.refused.append(line)
        elif outcome.new:
            self.report.loaded += 1
        else:
            self.report.known += 1
