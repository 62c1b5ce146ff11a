"""Loading blocks from blk files through the chain manager: `clarion import` and `-loadblock`.

Owns: reading ahead of the chain thread by a bounded number of blocks, and the account of what became of them.
Never: validation, showing progress. Runs on the caller's thread.
"""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from clarion.node.chain.block_scan import BlockScan, FoundBlock, Progress
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.service import ChainService
from clarion.node.errors import BlockFileError, DecodeError
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import BlockHash, hash_to_hex

IN_FLIGHT = 16
"""Blocks that are read ahead of the chain thread: enough that it never waits, little enough memory."""

MAX_LINES = 20
"""Refused blocks, and damaged places, that get a line of their own."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class LoadReport:
    """What became of the blocks of the loaded files; `lines` and `faults` hold one line of text each."""

    loaded: int = 0
    known: int = 0
    refused: int = 0
    """Blocks that break a rule themselves."""
    left_out: int = 0
    """Blocks that build on refused ones."""
    without_parent: int = 0
    """Blocks whose parent is unknown, and those that build on them."""
    lines: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every block of every file is part of the chain's data now."""
        return not (self.refused or self.left_out or self.without_parent or self.faults)

    def summary(self) -> str:
        """Return the account in one line."""
        parts = [f"{self.loaded} blocks loaded", f"{self.known} known before", f"{self.refused} refused"]
        if self.left_out:
            parts.append(f"{self.left_out} upon refused ones")
        if self.without_parent:
            parts.append(f"{self.without_parent} with an unknown parent")
        return ", ".join(parts)

    def refuse(self, line: str) -> None:
        """Count a refused block; `line` says why."""
        self.refused += 1
        if self.refused <= MAX_LINES:
            logger.warning("%s", line)
            self.lines.append(line)
        elif self.refused == MAX_LINES + 1:
            logger.warning("More refused blocks get no line")


class BlockLoader:
    """Feeds blk files to the chain thread. For one `load`."""

    def __init__(self, service: ChainService, interrupted: Callable[[], bool] = lambda: False) -> None:
        self._service = service
        self._interrupted = interrupted
        self._flying: deque[tuple[FoundBlock, Future[BlockOutcome]]] = deque()
        self._flying_hashes: Counter[BlockHash] = Counter()
        self._doomed: set[BlockHash] = set()
        """Descendants of refused blocks, which the block index does not know."""
        self._scan: BlockScan
        self.report = LoadReport()

    def load(self, files: Iterable[Path], progress: Progress = lambda done, blocks: None) -> LoadReport:
        """Load the files, whose blocks may come in any order, even over several files.

        What is damaged in a file is skipped, as the reference does, and told in the report. The node counts as in initial download
        meanwhile. Raises StorageError if our own storage fails.
        """
        manager = self._service.manager
        params = manager.state.params
        self._scan = BlockScan(
            files,
            params.magic,
            self._is_known,
            params.genesis.hash,
            interrupted=self._interrupted,
            progress=progress,
        )
        self._scan.on_file = self._start_file
        self._service.submit(manager.set_importing, True).result()
        try:
            self._load_all()
        finally:
            self._scan.close()
            self._service.submit(manager.set_importing, False).result()
        self._finish_report()
        return self.report

    def _load_all(self) -> None:
        started = time.monotonic()
        for found in self._scan.blocks():
            self._take(found)
        while self._flying:
            self._settle()
            for found in self._scan.ready():
                self._take(found)
        logger.info("Loaded %d blocks from external files in %dms", self.report.loaded, _since_ms(started))

    def _start_file(self, number: int) -> None:
        logger.info("Importing blocks file %s...", self._scan.files[number])

    def _is_known(self, block_hash: BlockHash) -> bool:
        if block_hash in self._flying_hashes or block_hash in self._doomed:
            return True
        return self._service.manager.lookup(block_hash) is not None

    def _take(self, found: FoundBlock) -> None:
        manager = self._service.manager
        known = manager.lookup(found.hash)
        if known is not None and known.has_data and not known.failed:
            self.report.known += 1
            return
        if found.prev_hash in self._doomed:
            self._leave_out(found)
            return
        try:
            block = Block.parse(self._scan.read(found))
        except (BlockFileError, DecodeError) as error:
            self._scan.pass_over(found, f"can't be decoded: {error}")
            return
        # A result comes only with its commit, which may take seconds: it is the queue that must not grow.
        self._service.wait_for_room(IN_FLIGHT)
        self._flying.append((found, self._service.submit(manager.process_new_block, block)))
        self._flying_hashes[found.hash] += 1
        while self._flying and self._flying[0][1].done():
            self._settle()

    def _settle(self) -> None:
        found, future = self._flying.popleft()
        outcome = future.result()
        self._flying_hashes[found.hash] -= 1
        if not self._flying_hashes[found.hash]:
            del self._flying_hashes[found.hash]
        invalid = outcome.invalid
        if invalid is None and self._is_refused(found.hash):
            # It was connected on top of a block whose scripts failed a moment later.
            self._leave_out(found)
        elif invalid is None:
            self.report.loaded += outcome.new
            self.report.known += not outcome.new
        elif invalid.reject_reason == "bad-prevblk" or self._builds_on_refused(found):
            self._leave_out(found)
        elif invalid.missing_parent:
            # Its parent was refused for bytes that another copy of it may not have.
            self._scan.postpone(found)
        else:
            where = f"{self._scan.files[found.file]}, offset {found.offset}"
            self.report.refuse(f"{where}: block {hash_to_hex(outcome.hash)} refused: {invalid}")

    def _builds_on_refused(self, found: FoundBlock) -> bool:
        return found.prev_hash in self._doomed or self._is_refused(found.prev_hash)

    def _is_refused(self, block_hash: BlockHash) -> bool:
        entry = self._service.manager.lookup(block_hash)
        return entry is not None and entry.failed

    def _leave_out(self, found: FoundBlock) -> None:
        self.report.left_out += 1
        self._doomed.add(found.hash)

    def _finish_report(self) -> None:
        report, scan = self.report, self._scan
        report.faults += scan.faults[:MAX_LINES]
        if len(scan.faults) > MAX_LINES:
            report.faults.append(f"{len(scan.faults) - MAX_LINES} more damaged places")
        if report.refused > MAX_LINES:
            report.lines.append(f"{report.refused - MAX_LINES} more blocks refused")
        if report.left_out:
            report.lines.append(f"{report.left_out} blocks that build on refused ones left out")
        if scan.waiting and not self._interrupted():
            report.without_parent = scan.waiting
            report.lines.append(f"{scan.waiting} blocks without a known parent left out ({scan.first_waiting()})")
        for line in report.lines[min(report.refused, MAX_LINES) :]:
            logger.warning("%s", line)


def _since_ms(started: float) -> int:
    return int((time.monotonic() - started) * 1000)
