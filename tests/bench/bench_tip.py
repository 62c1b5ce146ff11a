"""A full block at the tip: from its arrival to its durable commit, seen and unseen by the script cache.

Owns: one process that feeds blocks one at a time to an idle chain, and the table. Never: sockets: what a client waits
for beyond this is not measured here.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.chain_file import read_blocks
from bench.chain_run import ChainRun, open_chain
from bench.coins_table import copy_of, filled_folder
from bench.report import Report, load_average
from bench.stage_clock import StageClock
from clarion.node.primitives.block import Block, KnownTransaction, parse_block

REST_S = 0.15
"""Between two blocks: what is done behind the commit must be over."""


def measure(path: Path, folder: Path, last: int, par: int, stages: bool) -> dict[str, Any]:
    """Time the last blocks of the file; every second one's transactions are in the script cache."""
    raws = read_blocks(path)
    clock = StageClock()
    if stages:
        clock.install()
    times: dict[str, list[float]] = {"seen": [], "unseen": []}
    behind: list[float] = []
    with ExitStack() as stack:
        run = open_chain(folder, stack, par=par)
        run.service.submit(run.manager.set_importing, True).result()
        run.feed(raws[:-last])[-1].result()
        run.service.submit(run.manager.set_importing, False).result()
        run.service.submit(lambda: None).result()
        assert not run.manager.initial_download
        clock.spans.clear()
        clock.cpu.clear()
        for number, raw in enumerate(raws[-last:]):
            kind = "unseen" if number % 2 else "seen"
            if kind == "seen":
                for tx in Block.parse(raw).txs[1:]:
                    run.cache.add(tx.wtxid, run.flags)
            time.sleep(REST_S)
            durable, flushed = one_block(run, raw)
            times[kind].append(durable)
            behind.append(flushed)
    return {"times": times, "behind": behind, "stages": [] if not stages else [
        [stage, wall / last * 1000, cpu / last * 1000, share] for stage, wall, cpu, share in clock.rows(0)  # type: ignore[operator]
    ]}  # fmt: skip


def one_block(run: ChainRun, raw: bytes, known: KnownTransaction | None = None) -> tuple[float, float]:
    """Return the milliseconds from the block's arrival to its durable commit, and from there until it is flushed.

    `known` has the transactions of a mempool.
    """
    told: list[float] = []
    run.manager.journal.on_commit = lambda seq: told.append(time.perf_counter())
    arrived = time.perf_counter()
    outcome = run.service.submit(run.manager.process_new_block, parse_block(raw, known=known)[0]).result()
    done = time.perf_counter()
    assert outcome.invalid is None, str(outcome.invalid)
    assert len(told) == 1, "a block at the tip is one commit"
    return (told[0] - arrived) * 1000, (done - told[0]) * 1000


def run_tip(report: Report, path: Path, work: Path, coins: int, last: int, par: int) -> None:
    """Measure it beside `coins` coins."""
    report.section(f"A full block at the tip, beside {coins:,} coins")
    report.text(
        f"SQLite, `-par={par}`; blocks of 2,500 transactions and about 5,250 signature checks, one at a time. From the "
        "raw block in memory to its durable tip commit; the coins are flushed behind it. Seen: all its transactions "
        f"are in the script cache. Load average before: {load_average()}."
    )
    folder = copy_of(filled_folder(work, coins), work)
    found = _child(path, folder, last, par)
    rows: list[list[object]] = [[kind, *_spread(times)] for kind, times in found["times"].items()]
    rows.append(["flush of the coins, behind the commit", *_spread(found["behind"])])
    report.table(["", "blocks", "median, ms", "worst, ms"], rows)
    found = _child(path, copy_of(filled_folder(work, coins), work), last, par, "--stages")
    report.text("Where the time goes, a block on average in a run with its stages timed, seen and unseen mixed:")
    report.table(["stage", "wall, ms", "CPU of its thread, ms", "overlapped"], found["stages"])


def _spread(times: list[float]) -> list[object]:
    return [len(times), statistics.median(times), max(times)]


def _child(path: Path, folder: Path, last: int, par: int, *more: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.bench_tip", str(path), str(folder), str(last), str(par), *more]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def main() -> None:
    """Run in this process and print one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("last", type=int)
    parser.add_argument("par", type=int)
    parser.add_argument("--stages", action="store_true")
    chosen = parser.parse_args()
    print(json.dumps(measure(chosen.file, chosen.folder, chosen.last, chosen.par, chosen.stages)))


if __name__ == "__main__":
    main()
