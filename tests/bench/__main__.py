"""All benchmarks: `make bench` runs a small selection in some minutes, `make bench FULL=1` everything.

Owns: the order, the sizes, and docs/benchmarks.md, which it writes. Never: measuring.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bench.bench_accept import run_accept
from bench.bench_api import run_api, run_lock_table
from bench.bench_burst import run_burst
from bench.bench_dump import run_dump
from bench.bench_indexes import run_indexes
from bench.bench_latency import run_latency
from bench.bench_load import run_load, run_stages
from bench.bench_node import run_node
from bench.bench_replay import run_replay
from bench.bench_scripts import run_scripts
from bench.bench_spend import run_spend
from bench.bench_sync import run_sync
from bench.bench_tip import run_tip
from bench.bench_transports import run_transports
from bench.bench_watch import run_watch
from bench.chain_file import make_chain_file
from bench.coins_table import copy_of, filled_folder
from bench.report import Report, load_average, machine, today, versions

ROOT = Path(__file__).resolve().parents[2]
PARTS = (
    "node", "sync", "scripts", "load", "stages", "tip", "accept", "spend", "coins", "headers", "api", "lock", "latency",
    "transports", "replay", "watch", "burst", "indexes", "dump",
)  # fmt: skip
API_BLOCKS = 20
NOTES = Path(__file__).with_name("notes.md")

HEAD = """# Benchmarks

Written by `{command}`; not to be edited by hand (the notes at the end are kept in tests/bench/notes.md).

| | |
|---|---|
| date | {date} |
| machine | {machine} |
| versions | {versions} |

The numbers hold for this machine at that time. Each section tells the load average (1, 5, 15 minutes) that it
began and ended at: where that exceeds what a benchmark causes by itself, others used the cores too, wall times are as
much longer, and CPU times and ratios say more. Compare numbers of one section with each other, not with another day's.
"""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    blocks: int
    script_blocks: int
    rounds: int
    node_rounds: int
    flushes: tuple[int, ...]
    coins: int
    last: int
    spend_blocks: int
    headers: int
    mempool: int
    api_seconds: int
    messages: int


SMALL = Sizes(20, 3, 2, 1, (1, 20, 0), 200_000, 10, 20, 100_000, 20_000, 1, 2_000)
FULL = Sizes(60, 4, 2, 3, (1, 5, 20, 0), 5_000_000, 20, 120, 900_000, 100_000, 3, 20_000)


def other_script(report: Report, title: str, name: str, *arguments: str) -> None:
    """Run one of the older benchmarks and keep what it prints."""
    script = Path(__file__).with_name(name)
    done = subprocess.run([sys.executable, str(script), *arguments], check=True, stdout=subprocess.PIPE, text=True)
    report.section(title)
    report.code("\n".join(line for line in done.stdout.splitlines() if not line.startswith("fill")))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--full", action="store_true", help="the whole: about half an hour")
    parser.add_argument("--only", default="", help="parts, by comma; the others' last results in --work are kept")
    parser.add_argument(
        "--work", type=Path, help="folder for chains, tables and results, kept; default: a temporary one"
    )
    parser.add_argument("--blocks", type=int, help="full blocks in the chain file, instead of 20, or 60 with --full")
    parser.add_argument("--out", type=Path, help="where the report is written; default: printed only")
    chosen = parser.parse_args()
    work = chosen.work or Path(tempfile.mkdtemp(prefix="clarion-bench-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        sizes = FULL if chosen.full else SMALL
        if chosen.blocks:
            sizes = replace(sizes, blocks=chosen.blocks)
        measure(sizes, work, set(filter(None, chosen.only.split(","))))
        if chosen.out:
            chosen.out.parent.mkdir(parents=True, exist_ok=True)
            write(chosen.out, work, "make bench FULL=1" if chosen.full else "make bench")
    finally:
        if not chosen.work:
            shutil.rmtree(work, ignore_errors=True)


def write(out: Path, work: Path, command: str) -> None:
    """Write the report of every part that was measured, this time or before."""
    command = f"BITCOIND=… {command}" if os.environ.get("BITCOIND") else command
    head = HEAD.format(command=command, date=today(), machine=machine(), versions=versions())
    found = [work / f"result-{name}.md" for name in PARTS]
    out.write_text("\n".join([head, *(path.read_text() for path in found if path.exists()), NOTES.read_text()]))


def measure(sizes: Sizes, work: Path, only: set[str]) -> None:
    """Run the chosen parts, all if `only` is empty."""
    if only - set(PARTS):
        raise SystemExit(f"no such part: {', '.join(sorted(only - set(PARTS)))}; there are {', '.join(PARTS)}")
    path, what = make_chain_file(work, sizes.blocks)
    calls: dict[str, Callable[[Report], None]] = {
        "node": lambda report: run_node(report, path, what, work, sizes.node_rounds),
        "sync": lambda report: run_sync(report, path, what, work, sizes.rounds),
        "scripts": lambda report: run_scripts(report, path, what, work, sizes.script_blocks, sizes.rounds),
        "load": lambda report: run_load(report, path, what, work, sizes.flushes),
        "stages": lambda report: run_stages(report, path, what, work),
        "tip": lambda report: run_tip(report, path, work, sizes.coins, min(sizes.last, sizes.blocks // 2), 2),
        "accept": lambda report: run_accept(report, path, work, min(sizes.last, sizes.blocks // 2), sizes.mempool),
        "spend": lambda report: run_spend(report, work, sizes.coins, sizes.spend_blocks, sizes.rounds),
        "coins": lambda report: other_script(
            report, f"The coin store alone, beside {sizes.coins:,} coins (SQLite)", "bench_coins.py", "sqlite",
            str(copy_of(filled_folder(work, sizes.coins), work)), f"--coins={sizes.coins}", "--rounds=3",
            "--largest=100000",
        ),
        "headers": lambda report: other_script(
            report, f"The header index, {sizes.headers:,} headers", "bench_header_index.py",
            str(work / f"headers-{sizes.headers}"), f"--headers={sizes.headers}",
        ),
        "api": lambda report: run_api(report, *make_chain_file(work, API_BLOCKS), work, sizes.api_seconds),
        "lock": lambda report: run_lock_table(report, make_chain_file(work, API_BLOCKS)[0], work),
        "latency": lambda report: run_latency(report, path, work, min(sizes.last + 4, sizes.blocks // 2)),
        "transports": lambda report: run_transports(report, work, sizes.messages),
        "replay": lambda report: run_replay(report, path, what, work),
        "watch": lambda report: run_watch(report, path, work, min(sizes.last, sizes.blocks // 2)),
        "indexes": lambda report: run_indexes(report, *make_chain_file(work, API_BLOCKS), work),
        "dump": lambda report: run_dump(report, work, sizes.coins, sizes.rounds),
        "burst": lambda report: run_burst(report, make_chain_file(work, API_BLOCKS)[0], work, sizes.rounds),
    }  # fmt: skip
    for name in PARTS:
        if not only or name in only:
            report = Report()
            calls[name](report)
            report.text(f"Load average at its end: {load_average()}.")
            (work / f"result-{name}.md").write_text(str(report))


if __name__ == "__main__":
    main()
