"""Transactions a second without scripts, beside millions of coins: what the coins cache and the coin store can do.

Owns: one process per run, and the table. Never: making coins or blocks (see `coins_table`).
"""

import argparse
import json
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.chain_run import headers_with_more_behind, open_chain
from bench.coins_table import TXS, copy_of, filled_folder, spending_blocks
from bench.report import Report, load_average
from bench.stage_clock import StageClock
from clarion.node.primitives.block import Block

DBCACHE_MIB = 50


def spend(folder: Path, coins: int, blocks: int, stages: bool) -> dict[str, Any]:
    """Load blocks that spend from the table, in this process, until the coins have reached the tip."""
    raws = list(spending_blocks(blocks, coins))
    headers = headers_with_more_behind(raws)
    clock = StageClock()
    if stages:
        clock.install()
    with ExitStack() as stack:
        run = open_chain(folder, stack, cache_bytes=DBCACHE_MIB << 20, assume_valid=headers[-1].hash)
        run.service.submit(run.manager.process_new_headers, headers).result()
        clock.spans.clear()
        clock.cpu.clear()
        started, cpu = time.perf_counter(), time.process_time()
        run.import_all(raws)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        assert run.database.coins.tip() == Block.parse(raws[-1]).hash, "the coins have not reached the tip"
    return {"txs": blocks * (TXS + 1), "seconds": seconds, "cpu": cpu, "stages": clock.rows(0) if stages else []}


def run_spend(report: Report, work: Path, coins: int, blocks: int, rounds: int) -> None:
    """Measure it `rounds` times on fresh copies of the table, and once more with the stages timed."""
    report.section(f"Transactions a second without scripts, beside {coins:,} coins")
    report.text(
        f"SQLite, {blocks} blocks of {TXS:,} transactions with two inputs and two outputs: one input is a coin of the "
        "table that is not in the cache, the other an output of the block before. Scripts are off (-assumevalid), "
        f"`-dbcache={DBCACHE_MIB}`; from the first block until `coins_tip` has reached the tip. "
        f"Load average before: {load_average()}."
    )
    filled = filled_folder(work, coins)
    rows: list[list[object]] = []
    for number in range(1, rounds + 1):
        found = _child(copy_of(filled, work), coins, blocks)
        rows.append([f"run {number}", found["txs"] / found["seconds"], found["seconds"], found["cpu"]])
    report.table(["", "transactions/s", "wall, s", "CPU, s"], rows)
    found = _child(copy_of(filled, work), coins, blocks, "--stages")
    report.text(f"A run with its stages timed, {found['seconds']:.2f} s:")
    report.table(["stage", "wall, s", "CPU, s", "overlapped"], found["stages"])


def _child(folder: Path, coins: int, blocks: int, *more: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.bench_spend", str(folder), str(coins), str(blocks), *more]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def main() -> None:
    """Run in this process and print one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("coins", type=int)
    parser.add_argument("blocks", type=int)
    parser.add_argument("--stages", action="store_true")
    chosen = parser.parse_args()
    print(json.dumps(spend(chosen.folder, chosen.coins, chosen.blocks, chosen.stages)))


if __name__ == "__main__":
    main()
