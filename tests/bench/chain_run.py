"""A chain with its thread, script workers and storage, but no API: what the benchmarks feed blocks to.

Owns: composing and closing it, feeding blocks, and headers far enough ahead for -assumevalid. Never: measuring.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clarion.node.chain.manager import ChainManager
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.service import ChainService
from clarion.node.chain.state import ChainOptions
from clarion.node.chain.stores import ChainStores
from clarion.node.collector import tune_collector
from clarion.node.params.chain_params import ChainParams, select_params
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.database import Database, open_database
from clarion.node.storage.undo_files import UndoFiles
from clarion.node.validation.check_queue import CheckQueue, make_check_queue
from clarion.node.validation.pipeline import ScriptPipeline
from clarion.node.validation.script_cache import ScriptCache
from helpers.chain_builder import REGTEST_BITS, SPACING, VERSION, solve

READ_AHEAD = 16
HEADERS_AHEAD = 2_100
"""More than two weeks of blocks: only below them scripts may be skipped."""
CACHE_BYTES = 450 << 20
SCRIPT_CACHE_BYTES = 16 << 20
NEVER_OLD_S = 10**10


@dataclass
class ChainRun:
    """The open parts. `service` is started, the chain is loaded."""

    params: ChainParams
    database: Database
    manager: ChainManager
    service: ChainService
    queue: CheckQueue
    cache: ScriptCache
    stores: ChainStores
    flags: int = 0
    """Script flags of the last block that was handed to the workers."""

    def feed(self, raws: Sequence[bytes], flush_every: int = 0) -> list["Future[BlockOutcome]"]:
        """Submit blocks as the loader does; with `flush_every`, commit and flush the coins each time so many came."""
        results = []
        for number, raw in enumerate(raws, 1):
            self.service.wait_for_room(READ_AHEAD)
            results.append(self.service.submit(self.manager.process_new_block, Block.parse(raw)))
            if flush_every and number % flush_every == 0:
                self.service.submit(self._flush)
        return results

    def _flush(self) -> None:
        self.manager.commit()
        self.manager.journal.flush()

    def import_all(self, raws: Sequence[bytes], flush_every: int = 0) -> None:
        """Load blocks as an import does, to the last flush, and end the chain thread."""
        self.service.submit(self.manager.set_importing, True).result()
        results = self.feed(raws, flush_every)
        self.service.stop()
        for result in results:
            outcome = result.result()
            assert outcome.invalid is None, str(outcome.invalid)


def open_chain(
    folder: Path,
    stack: ExitStack,
    *,
    url: str | None = None,
    par: int = 2,
    cache_bytes: int = CACHE_BYTES,
    assume_valid: BlockHash | None = None,
) -> ChainRun:
    """Open a regtest chain in `folder`; `stack` closes it. Scripts are checked by `par` processes (1: inline)."""
    tune_collector()
    params = select_params("regtest")
    (folder / "blocks").mkdir(parents=True, exist_ok=True)
    database = open_database(url, folder, params)
    stack.callback(database.close)
    block_files = BlockFiles(folder / "blocks", params.magic)
    stack.callback(block_files.close)
    undo_files = UndoFiles(folder / "blocks", params.magic)
    stack.callback(undo_files.close)
    queue = make_check_queue(par, 64)
    stack.callback(queue.close)
    queue.start()
    cache = ScriptCache(SCRIPT_CACHE_BYTES)
    pipeline = ScriptPipeline(queue, cache)
    options = ChainOptions(
        minimum_chainwork=0, assume_valid=assume_valid, max_tip_age=NEVER_OLD_S, cache_bytes=cache_bytes
    )
    stores = ChainStores(database.chain, database.coins, block_files, undo_files)
    manager = ChainManager(params, stores, pipeline, options)
    manager.state.importing = True
    service = ChainService(manager, _fail)
    run = ChainRun(params, database, manager, service, queue, cache, stores)
    _note_flags(pipeline, run)
    service.start()
    stack.callback(service.stop)
    service.submit(manager.load).result()
    return run


def _note_flags(pipeline: ScriptPipeline, run: ChainRun) -> None:
    submit: Callable[..., Any] = pipeline.submit

    def noting(jobs: Any, flags: int) -> Any:
        run.flags = flags
        return submit(jobs, flags)

    pipeline.submit = noting  # type: ignore[method-assign]


def _fail(error: BaseException) -> None:
    print(f"the chain stopped: {error!r}", flush=True)


def headers_with_more_behind(raws: Sequence[bytes]) -> list[BlockHeader]:
    """Return the headers of `raws` and so many on top of them that -assumevalid may skip the scripts of all blocks."""
    headers = [Block.parse(raw).header for raw in raws]
    last = headers[-1]
    for _ in range(HEADERS_AHEAD):
        last = solve(VERSION, last.hash, bytes(32), last.time + SPACING, REGTEST_BITS)
        headers.append(last)
    return headers
