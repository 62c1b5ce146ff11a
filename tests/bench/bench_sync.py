"""Initial sync over loopback, from one and from four peers, beside loading the same chain from its file.

Owns: the peers that serve the chain, and the time and CPU of the node that gets it. Never: the load itself (see
`bench_node`), links that are slower than loopback.
"""

import shutil
import statistics
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bench.bench_node import PAR, load
from bench.chain_file import read_blocks
from bench.report import Report, load_average
from bench.stage_clock import processes_cpu_s
from helpers.node import Node, free_port, process_ids_below, program

SYNCS = ((1, "v2"), (4, "v2"), (1, "v1"))
"""How many peers, and the transport that they speak."""
LIGHT = ("-par=1", "-apiworkers=0", "-eventsprocess=0")
"""A peer here only serves: it is one process."""


class Run(NamedTuple):
    """Seconds to the answer, and CPU seconds of the node and of all of its peers together."""

    seconds: float
    node_cpu: float
    peers_cpu: float


class Server:
    """A node with the whole chain that others may connect to by either transport."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.node = Node(folder, "-listen=1", f"-bind=127.0.0.1:{self.port}", "-v2transport=1", *LIGHT)

    def cpu_s(self) -> float:
        """Return the CPU time of its processes up to now."""
        process = self.node.process
        assert process is not None
        return processes_cpu_s([process.pid, *process_ids_below(process.pid)])


def _options(work: Path, port: int) -> list[str]:
    return [*program(), "-regtest", f"-datadir={work / 'synced'}", "-server=1", f"-rpcport={port}", f"-par={PAR}"]


def load_file(path: Path, work: Path, height: int) -> Run:
    """Load the file in a fresh node."""
    port = free_port()
    found = load(
        [*_options(work, port), "-listen=0", "-connect=0", f"-loadblock={path}"], work / "synced", port, height
    )
    return Run(found.seconds, found.cpu, 0)


def sync(servers: list[Server], transport: str, work: Path, height: int) -> Run:
    """Sync a fresh node from servers that are up."""
    port = free_port()
    before = sum(server.cpu_s() for server in servers)
    command = [*_options(work, port), "-listen=0", f"-v2transport={int(transport == 'v2')}"]
    command += [f"-connect=127.0.0.1:{server.port}" for server in servers]
    found = load(command, work / "synced", port, height)
    return Run(found.seconds, found.cpu, sum(server.cpu_s() for server in servers) - before)


def _serving_folders(path: Path, work: Path, height: int) -> list[Path]:
    """Return data directories that hold the chain; what `work` has already is taken."""
    folders = [work / "serving" / str(number) for number in range(max(count for count, _ in SYNCS))]
    if not folders[0].exists():
        part = work / "serving.part"
        shutil.rmtree(part, ignore_errors=True)
        with Node(part / "0", f"-loadblock={path}", f"-par={PAR}") as node:
            while node.rpc("getblockcount") != height:
                time.sleep(0.1)
        for folder in folders[1:]:
            shutil.copytree(part / "0", part / folder.name)
        part.rename(work / "serving")
    return folders


def run_sync(report: Report, path: Path, what: str, work: Path, rounds: int) -> None:
    """Measure loading and syncing in turn."""
    height = len(read_blocks(path))
    folders = _serving_folders(path, work, height)
    report.section("Initial sync over loopback")
    report.text(
        f"{what}, `-par={PAR}`; seconds from the command until `getblockcount` answers {height}, start-up included, run "
        "in turn. The peers are Clarion nodes that do nothing else, and share the cores with the node that syncs. "
        f"Load average before: {load_average()}."
    )
    found: dict[str, list[Run]] = {}
    with ExitStack() as stack:
        servers = [Server(folder) for folder in folders]
        for server in servers:
            server.node.spawn()
            stack.callback(server.node.stop)
        for server in servers:
            server.node.wait_ready()
        for _ in range(rounds):
            found.setdefault("the file, by `-loadblock`", []).append(load_file(path, work, height))
            for count, transport in SYNCS:
                name = f"{count} peer{'s' * (count > 1)}, {transport}"
                found.setdefault(name, []).append(sync(servers[:count], transport, work, height))
            print({name: runs[-1] for name, runs in found.items()}, flush=True)
    _table(report, found)


def _table(report: Report, found: dict[str, list[Run]]) -> None:
    (loads, *_) = found.values()
    rows: list[list[object]] = []
    for name, runs in found.items():
        ratios = [run.seconds / loaded.seconds for run, loaded in zip(runs, loads, strict=True)]
        rows.append(
            [
                name, " ".join(f"{run.seconds:.2f}" for run in runs), min(run.seconds for run in runs),
                statistics.median(ratios), min(run.node_cpu for run in runs), min(run.peers_cpu for run in runs),
            ]
        )  # fmt: skip
    head = [
        "from",
        "s, each run",
        "best, s",
        "to the file, median of rounds",
        "CPU of the node, s",
        "CPU of its peers, s",
    ]
    report.table(head, rows)
