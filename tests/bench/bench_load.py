"""Loads the chain file into each database: blocks by flush interval, scripts on and off, and the time of each stage.

Owns: one process per load, so that none inherits another's memory; the tables. Never: the node's start and API.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.chain_file import read_blocks
from bench.chain_run import headers_with_more_behind, open_chain
from bench.report import Report, load_average
from bench.stage_clock import StageClock, processes_cpu_s
from clarion.node.primitives.block import Block
from clarion.node.validation.process_queue import ProcessQueue
from helpers.databases import postgres_schema, postgres_url

FLUSHES = (1, 5, 20, 0)
PAR = 2


def load(path: Path, folder: Path, url: str | None, flush_every: int, scripts: bool, stages: bool) -> dict[str, Any]:
    """Load the file in this process and return what was measured."""
    raws = read_blocks(path)
    clock = StageClock()
    if stages:
        clock.install()
    with ExitStack() as stack:
        headers = [] if scripts else headers_with_more_behind(raws)
        assume_valid = headers[-1].hash if headers else None
        run = open_chain(folder, stack, url=url, par=PAR, assume_valid=assume_valid)
        run.service.submit(run.manager.process_new_headers, headers).result()
        assert isinstance(run.queue, ProcessQueue)
        workers = run.queue.worker_pids
        clock.spans.clear()
        clock.cpu.clear()
        started, cpu, worker_cpu = time.perf_counter(), time.process_time(), processes_cpu_s(workers)
        run.import_all(raws, flush_every)
        seconds = time.perf_counter() - started
        cpu, worker_cpu = time.process_time() - cpu, processes_cpu_s(workers) - worker_cpu
        assert run.database.coins.tip() == Block.parse(raws[-1]).hash, "the coins have not reached the tip"
    return {
        "blocks": len(raws), "seconds": seconds, "cpu": cpu, "worker_cpu": worker_cpu,
        "stages": clock.rows(worker_cpu) if stages else [],
    }  # fmt: skip


def _child(path: Path, work: Path, kind: str, flush_every: int, scripts: bool, stages: bool = False) -> dict[str, Any]:
    """Load in a fresh process and data directory."""
    folder = work / "load"
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "bench.bench_load", str(path), str(folder), f"--flush={flush_every}"]
    command += ["--scripts"] * scripts + ["--stages"] * stages
    with ExitStack() as stack:
        if kind == "PostgreSQL":
            command.append(f"--url={stack.enter_context(postgres_schema())}")
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    shutil.rmtree(folder, ignore_errors=True)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def databases() -> tuple[Sequence[str], str]:
    """Return the databases that can be measured, and why not all of them."""
    url = postgres_url()
    return (("SQLite",), url) if isinstance(url, str) else (("SQLite", "PostgreSQL"), "")


def run_load(report: Report, path: Path, what: str, work: Path, flushes: Sequence[int] = FLUSHES) -> None:
    """Measure blocks a second by database, flush interval and scripts."""
    kinds, missing = databases()
    report.section("Loading the chain file, by database and flush interval")
    report.text(
        f"{what}, `-par={PAR}`, from the first block to the last flush of the coins, without the node's start. "
        "Scripts are off below -assumevalid, with the headers known before. "
        f"Load average before: {load_average()}."
    )
    if missing:
        report.text(f"PostgreSQL was not measured: {missing}.")
    rows: list[list[object]] = []
    for flush_every in flushes:
        for scripts in (True, False):
            row: list[object] = [_flush_name(flush_every), "on" if scripts else "off"]
            for kind in kinds:
                found = _child(path, work, kind, flush_every, scripts)
                row += [found["blocks"] / found["seconds"], found["seconds"]]
                print(row, flush=True)
            rows.append(row)
    head = ["blocks a flush", "scripts"]
    for kind in kinds:
        head += [f"{kind}, blocks/s", f"{kind}, s"]
    report.table(head, rows)


def _flush_name(flush_every: int) -> str:
    return str(flush_every) if flush_every else "as the node does (cache full, or the end)"


def run_stages(report: Report, path: Path, what: str, work: Path) -> None:
    """Measure the stages of one load on each database."""
    kinds, _ = databases()
    for kind in kinds:
        found = _child(path, work, kind, 0, scripts=True, stages=True)
        report.section(f"Stages of loading, {kind}")
        report.text(
            f"{what}, `-par={PAR}`: {found['seconds']:.2f} s from the first block to the last flush; CPU "
            f"{found['cpu']:.2f} s in the node's process and {found['worker_cpu']:.2f} s in its workers. A stage's wall "
            "time includes waiting for a core and for Python's interpreter lock. "
            "Overlapped is the share of it in which another thread was in a stage too."
        )
        report.table(["stage", "wall, s", "CPU, s", "overlapped"], found["stages"])
        total = sum(row[1] for row in found["stages"])
        report.text(f"The stages' wall times add up to {total:.2f} s, {total / found['seconds']:.2f} times the run.")


def main() -> None:
    """Load in this process and print one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url")
    parser.add_argument("--flush", type=int, default=0)
    parser.add_argument("--scripts", action="store_true")
    parser.add_argument("--stages", action="store_true")
    chosen = parser.parse_args()
    print(json.dumps(load(chosen.file, chosen.folder, chosen.url, chosen.flush, chosen.scripts, chosen.stages)))


if __name__ == "__main__":
    main()
