"""Script checks a second by kind of queue, workers and batch size, and how soon a failure stops them.

Owns: the jobs of the chain file's full blocks, the measurements and their tables. Never: a chain on a disk.
"""

import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

from bench.chain_file import read_blocks
from bench.contended_queue import ContendedQueue
from bench.report import Report, cell, load_average
from clarion.node.chain.clock import Clock
from clarion.node.chain.manager import ChainManager
from clarion.node.chain.state import ChainOptions
from clarion.node.chain.stores import ChainStores
from clarion.node.consensus.connect import ScriptJob
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.database import open_database
from clarion.node.storage.undo_files import UndoFiles
from clarion.node.validation.check_queue import CheckQueue, ScriptFailure, make_check_queue

WORKERS = (1, 2, 4, 8, 16)
BATCHES = (1, 16, 64, 256)
KINDS = ("one contended queue", "atomic claims", "threads")


class Work(NamedTuple):
    """The script checks of one block."""

    jobs: Sequence[ScriptJob]
    flags: int

    @property
    def checks(self) -> int:
        """Signature checks: P2WSH is always 2-of-3 in these chains."""
        scripts = [coin.script_pubkey for job in self.jobs for coin in job.spent_outputs]
        return len(scripts) + sum(script[:2] == b"\x00\x20" for script in scripts)


class _Recorder:
    """Takes script checks down and passes them all."""

    def __init__(self) -> None:
        self.found: list[Work] = []

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        self.found.append(Work(jobs, flags))
        passed: Future[ScriptFailure | None] = Future()
        passed.set_result(None)
        return passed

    def remember(self, jobs: Sequence[ScriptJob], flags: int) -> None:
        """Nothing to remember."""


def full_blocks(path: Path, folder: Path, count: int) -> list[Work]:
    """Return the checks of `count` full blocks of the file."""
    params = select_params("regtest")
    recorder = _Recorder()
    folder.mkdir(parents=True, exist_ok=True)
    with open_database("sqlite://", folder, params) as database:
        stores = ChainStores(
            database.chain, database.coins, BlockFiles(folder, params.magic), UndoFiles(folder, params.magic)
        )
        options = ChainOptions(minimum_chainwork=0, assume_valid=None, flush_interval_s=3600)
        manager = ChainManager(params, stores, recorder, options, Clock())
        manager.load()
        for raw in read_blocks(path):
            manager.process_new_block(Block.parse(raw))
            full = [work for work in recorder.found if work.checks > 1_000 and len(work.jobs) > 10]
            if len(full) == count:
                break
    return full


def make_queue(kind: str, workers: int, batch: int) -> CheckQueue | ContendedQueue:
    """Return a queue of one of the KINDS, not started."""
    if kind == "one contended queue":
        return ContendedQueue(workers, batch)
    return make_check_queue(workers, batch, "threads" if kind == "threads" else "processes")


def best_time(queue: CheckQueue | ContendedQueue, blocks: Sequence[Work], rounds: int) -> float:
    """Return the seconds that all blocks take, in the best of several rounds with warm workers."""
    times = []
    queue.start()
    queue.check(blocks[0].jobs, blocks[0].flags)
    for _ in range(rounds):
        started = time.perf_counter()
        for work in blocks:
            assert queue.check(work.jobs, work.flags) is None
        times.append(time.perf_counter() - started)
    queue.close()
    return min(times)


def run_scripts(report: Report, path: Path, what: str, work: Path, count: int, rounds: int) -> None:
    """Measure every kind of queue, number of workers and batch size."""
    blocks = full_blocks(path, work / "jobs", count)
    checks = sum(each.checks for each in blocks)
    report.section("Script checks by kind of queue, workers and batch size")
    report.text(
        f"{len(blocks)} full blocks of {what} with {checks:,} signature checks, one block after the other, best of "
        f"{rounds} rounds with warm workers: checks/s (blocks/s). One contended queue is `multiprocessing.Queue`, batches "
        "of 1 in it are single inputs, as in the queue that this project began with; atomic claims are the node's. "
        f"The kinds ran in turn for each number of workers. Load average before: {load_average()}."
    )
    seconds = best_time(make_check_queue(1, 64, "inline"), blocks, rounds)
    report.text(f"0 workers (inline): {_rate(checks, len(blocks), seconds)}.")
    rows: dict[tuple[str, int], list[object]] = {
        (kind, batch): [f"{kind}, batches of {batch}"] for kind in KINDS for batch in BATCHES
    }
    for batch in BATCHES:
        for workers in WORKERS:
            for kind in KINDS:
                seconds = best_time(make_queue(kind, workers, batch), blocks, rounds)
                rows[kind, batch].append(_rate(checks, len(blocks), seconds))
        print(batch, load_average(), flush=True)
    report.table(["", *(f"{workers} worker{'s' * (workers > 1)}" for workers in WORKERS)], list(rows.values()))
    _early_stop(report, blocks[0], rounds)


def _rate(checks: int, blocks: int, seconds: float) -> str:
    return f"{cell(checks / seconds)} ({cell(blocks / seconds)})"


def _early_stop(report: Report, work: Work, rounds: int) -> None:
    """Measure one block with a failure near its start, in its middle and at its end."""
    report.text("Early stop, batches of 64: milliseconds until a block with one spoiled transaction is refused.")
    rows: list[list[object]] = []
    for name, kind, workers in (
        ("inline", "inline", 1),
        ("threads, 2", "threads", 2),
        ("processes, 2", "processes", 2),
    ):
        queue = make_check_queue(workers, 64, kind)
        queue.start()
        queue.check(work.jobs, work.flags)
        row: list[object] = [name]
        for share in (0.01, 0.5, 1.0, None):
            jobs = work.jobs if share is None else _spoiled(work.jobs, int(share * (len(work.jobs) - 1)))
            times = []
            for _ in range(rounds):
                started = time.perf_counter()
                assert (queue.check(jobs, work.flags) is None) is (share is None)
                times.append(time.perf_counter() - started)
            row.append(min(times) * 1000)
        rows.append(row)
        queue.close()
    report.table(["", "fails at 1 %", "at 50 %", "in the last", "no failure"], rows)


def _spoiled(jobs: Sequence[ScriptJob], place: int) -> list[ScriptJob]:
    """Return the jobs with a signature at `place` that does not fit: its transaction spends other keys' outputs."""
    job = jobs[place]
    wrong = [Coin(coin.value + 1, b"\x00\x14" + bytes(20), coin.code) for coin in job.spent_outputs]
    return [*jobs[:place], job._replace(spent_outputs=wrong, spent_raw=b""), *jobs[place + 1 :]]
