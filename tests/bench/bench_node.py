"""The whole node: from its start until it answers with the chain file's height, and the memory that it took.

Owns: running Clarion, and the reference's bitcoind where one is given, one after the other in turn. Never: the chain's
parts (see `bench_load`).
"""

import base64
import contextlib
import http.client
import json
import os
import shutil
import statistics
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bench.bench_load import databases
from bench.chain_file import read_blocks
from bench.report import Report, load_average
from helpers.databases import postgres_schema
from helpers.node import free_port, process_ids_below, program

POLL_S = 0.05
PAR = 2
TIMEOUT_S = 300
REFERENCE = "the reference"


class Loaded(NamedTuple):
    """Seconds to the answer, CPU seconds of all its processes until they ended, and the most memory in MiB held.

    The memory is that of the node's own process, and of all of its processes together.
    """

    seconds: float
    cpu: float
    node_mib: float
    all_mib: float


def load(command: list[str], datadir: Path, port: int, height: int) -> Loaded:
    """Start a node that loads the file and return what it took."""
    shutil.rmtree(datadir, ignore_errors=True)
    datadir.mkdir(parents=True)
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    peak = 0.0
    try:
        while _answer(datadir / "regtest" / ".cookie", port, "getblockcount") != height:
            assert process.poll() is None, f"{command[0]} ended with status {process.returncode}"
            assert time.perf_counter() - started < TIMEOUT_S, "it takes too long"
            peak = max(peak, sum(_memory_mib(pid, "VmRSS") for pid in [process.pid, *process_ids_below(process.pid)]))
            time.sleep(POLL_S)
        seconds = time.perf_counter() - started
        node = _memory_mib(process.pid, "VmHWM")
        _answer(datadir / "regtest" / ".cookie", port, "stop")
        # Its own time and that of the children that it waited for.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    except BaseException:
        process.kill()
        process.wait()
        raise
    shutil.rmtree(datadir, ignore_errors=True)
    return Loaded(seconds, used.ru_utime + used.ru_stime, node, peak)


def _answer(cookie: Path, port: int, method: str) -> object:
    with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
        secret = base64.b64encode(cookie.read_bytes()).decode()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        body = json.dumps({"id": 1, "method": method, "params": []})
        connection.request("POST", "/", body, {"Authorization": f"Basic {secret}", "Content-Type": "application/json"})
        answer: dict[str, object] = json.loads(connection.getresponse().read())
        connection.close()
        return answer["result"]
    return None


def _memory_mib(pid: int, name: str) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


def run_node(report: Report, path: Path, what: str, work: Path, rounds: int) -> None:
    """Measure the node on each database, and the reference, in turn."""
    height = len(read_blocks(path))
    kinds: list[str] = list(databases()[0])
    reference = os.environ.get("BITCOIND")
    if reference:
        kinds.append(REFERENCE)
    report.section("The whole node: from the command to the answer")
    report.text(
        f"{what}, `-par={PAR}`, default `-dbcache`, the file given by `-loadblock`; seconds from the command until "
        f"`getblockcount` answers {height}, start-up included, run in turn. CPU until the end of the process; PostgreSQL's own server is not "
        f"in it. Load average before: {load_average()}."
    )
    if not reference:
        report.text("The reference was not measured: BITCOIND names no program.")
    found: dict[str, list[Loaded]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind in kinds:
            with ExitStack() as stack:
                port = free_port()
                command = [reference, "-assumevalid=0"] if kind == REFERENCE and reference else program()
                command += [
                    "-regtest",
                    f"-datadir={work / 'node'}",
                    "-server=1",
                    f"-rpcport={port}",
                    "-listen=0",
                    "-connect=0",
                ]
                command += ["-connect=0", f"-par={PAR}", f"-loadblock={path}"]
                if kind == "PostgreSQL":
                    command.append(f"-database={stack.enter_context(postgres_schema())}")
                found[kind].append(load(command, work / "node", port, height))
                print(kind, found[kind][-1], load_average(), flush=True)
    _tables(report, found)


def _tables(report: Report, found: dict[str, list[Loaded]]) -> None:
    reference = found.get(REFERENCE, [])
    rows: list[list[object]] = []
    for kind, runs in found.items():
        seconds = [run.seconds for run in runs]
        cpu = min(run.cpu for run in runs)
        row: list[object] = [kind, " ".join(f"{each:.2f}" for each in seconds), min(seconds), cpu]
        if reference:
            ratios = [run.seconds / other.seconds for run, other in zip(runs, reference, strict=True)]
            row += [statistics.median(ratios), min(seconds) / min(run.seconds for run in reference)]
            row.append(cpu / min(run.cpu for run in reference))
        rows.append([*row, max(run.node_mib for run in runs), max(run.all_mib for run in runs)])
    head = ["", "s, each run", "best, s", "CPU of all its processes, s"]
    if reference:
        head += ["to the reference, median of pairs", "best to best", "CPU to CPU"]
    report.table([*head, "node process, peak MiB", "all its processes, peak MiB"], rows)
