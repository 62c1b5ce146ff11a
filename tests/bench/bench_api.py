"""The API under many clients: requests a second beside the reference's, and what connecting blocks does to them.

Owns: the nodes, the requests, the tables. Never: counting (see `api_load`).
"""

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median

from bench.api_load import Load, Request, have_wrk, run_load
from bench.chain_file import read_blocks
from bench.report import Report, load_average
from clarion.node.chain.block_statistics import STORE_NAME
from clarion.node.storage.index_store import IndexReader
from clarion.node.storage.location import locate
from helpers.node import Node
from helpers.waiting import wait_for

WORKERS = 2
CLIENTS = 16
LOCK_CLIENTS = (1, 8, 16)
ROTATION = 20
ROUNDS = 3
"""Windows of each cell of the lock table: now and then the machine itself stands still for a tenth of a second."""
LOCK_WINDOW_S = 1
"""Twenty-one cells of three columns in three rounds: with loading the two nodes some six minutes."""

BELOW_TIP = 3
"""How far below the tip the block that all ask for is."""

LOADED_S = 300


class BenchNode(Node):
    """A node that has loaded the chain file; `program` may be the reference."""

    def call(self, method: str, *params: object) -> Request:
        """Return the request of a call."""
        body = json.dumps({"id": 1, "method": method, "params": params}, separators=(",", ":"))
        return Request("POST", "/", self.authorization(), body)


@contextmanager
def loaded(folder: Path, path: Path, height: int, *options: str, reference: str = "") -> Iterator[BenchNode]:
    """Run a node until it has loaded the file, and stop it in the end."""
    own = ["-assumevalid=0", "-printtoconsole=0"] if reference else [f"-apiworkers={WORKERS}"]
    node = BenchNode(folder, "-par=2", f"-loadblock={path}", *own, *options)
    if reference:
        node.program = [reference]
    with node:
        wait_for(lambda: bool(node.rpc("getblockcount") == height), LOADED_S)
        if not reference:
            wait_for(lambda: statistics_of(folder) > height, LOADED_S)
        yield node


def statistics_of(folder: Path) -> int:
    """Return of how many blocks the node has stored the statistics, which it does once it has nothing else to do."""
    chain_dir = folder / "regtest"
    reader = IndexReader(locate(None, chain_dir), chain_dir, STORE_NAME)
    try:
        with reader.snapshot() as view:
            return len(list(view.items()))
    finally:
        reader.close()


def questions(node: BenchNode, blocks: Sequence[str]) -> dict[str, list[Request]]:
    """Return what is asked, by name, about each of the blocks in turn."""

    def get(path: str) -> list[Request]:
        return [Request("GET", f"/rest/{path.format(block)}") for block in blocks]

    def call(method: str, *params: object) -> list[Request]:
        return [node.call(method, block, *params) for block in blocks]

    txids = {block: node.rpc("getblock", block, 1)["tx"][100] for block in blocks}
    return {
        "rest/block .bin": get("block/{}.bin"),
        "rest/block .json": get("block/{}.json"),
        "rest/spenttxouts .bin": get("spenttxouts/{}.bin"),
        "rest/spenttxouts .json": get("spenttxouts/{}.json"),
        "getblock 0": call("getblock", 0),
        "getblock 1": call("getblock", 1),
        "getblock 2": call("getblock", 2),
        "getblock 3": call("getblock", 3),
        "getblockstats, two fields": call("getblockstats", ["minfeerate", "avgfeerate"]),
        "gettxoutproof": [node.call("gettxoutproof", [txids[block]], block) for block in blocks],
        "getblockheader": call("getblockheader"),
        "getblockcount": [node.call("getblockcount")],
    }


LOCK_QUESTIONS = (
    "rest/block .bin",
    "getblock 0",
    "getblock 1",
    "getblock 2",
    "getblock 3",
    "getblockstats, two fields",
    "gettxoutproof",
)


def block_hashes(node: Node, height: int, count: int) -> list[str]:
    """Return the hashes of `count` blocks up to a height."""
    return [node.rpc("getblockhash", number) for number in range(height - count + 1, height + 1)]


def run_api(report: Report, path: Path, what: str, work: Path, seconds: int) -> None:
    """Measure requests a second, warm and cold, and the lock table."""
    report.section("The API: requests a second")
    if not have_wrk():
        report.text("Not measured: wrk is not installed.")
        return
    height = len(read_blocks(path))
    reference = os.environ.get("BITCOIND", "")
    report.text(
        f"{what}, `-apiworkers={WORKERS}`; {CLIENTS} keep-alive clients of `wrk -t1`, {seconds} s each, on the same "
        f"machine. Warm: the block of height {height - BELOW_TIP}, asked for again and again. Cold: the last {ROTATION} full "
        "blocks in rotation with `-apicache=1`, in which none of their rendered answers finds room until it is its turn again; "
        "txids and merkle trees of the last blocks are kept. Bare: the same with `-apicache=0`, which keeps nothing of blocks. "
        "Statistics are stored by the node in all three. Requests a second (99th percentile of the answer's milliseconds). "
        f"Load average before: {load_average()}."
    )
    found: dict[str, dict[str, Load]] = {}
    with loaded(work / "api", path, height) as node:
        found["warm"] = measure(node, height, 1, seconds)
    with loaded(work / "api", path, height, "-apicache=1") as node:
        found["cold"] = measure(node, height, ROTATION, seconds)
    with loaded(work / "api", path, height, "-apicache=0") as node:
        found["bare"] = measure(node, height, ROTATION, seconds)
    if reference:
        with loaded(work / "api-reference", path, height, reference=reference) as node:
            found["the reference, one block"] = measure(node, height, 1, seconds)
            found["the reference, rotation"] = measure(node, height, ROTATION, seconds)
    load_table(report, found)


def load_table(report: Report, found: dict[str, dict[str, Load]]) -> None:
    """Add the table of loads by kind and question, with the ratios where the reference was measured."""
    reference = "the reference, one block" in found
    rows: list[list[object]] = []
    for name in found["warm"]:
        cells = [f"{kind[name].per_second:,.0f} ({kind[name].p99_ms:,.1f})" for kind in found.values()]
        row: list[object] = [name, *cells]
        if reference:
            row.append(found["warm"][name].per_second / found["the reference, one block"][name].per_second)
            rotation = found["the reference, rotation"][name].per_second
            row += [found[kind][name].per_second / rotation for kind in ("cold", "bare")]
        rows.append(row)
    ratios = ["warm, to the reference", "cold, to the reference", "bare, to the reference"] if reference else []
    report.table(["", *found, *ratios], rows)


def measure(node: BenchNode, height: int, blocks: int, seconds: int) -> dict[str, Load]:
    """Return the load of each question about the block below the tip, or about the last blocks."""
    asked = questions(node, block_hashes(node, height - BELOW_TIP if blocks == 1 else height, blocks))
    found = {}
    for name, requests in asked.items():
        run_load(node.rpc_port, requests, CLIENTS, 1)
        found[name] = run_load(node.rpc_port, requests, CLIENTS, seconds)
        print(name, found[name], flush=True)
    return found


class Feeder:
    """A client that has a node leave and connect its last blocks without pause."""

    def __init__(self, node: Node, height: int) -> None:
        self._node = node
        self._first = node.rpc("getblockhash", height - BELOW_TIP + 1)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.turns = 0

    def _run(self) -> None:
        while not self._stop.is_set():
            self._node.rpc("invalidateblock", self._first)
            self._node.rpc("reconsiderblock", self._first)
            self.turns += 1

    def __enter__(self) -> "Feeder":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def run_lock_table(report: Report, path: Path, work: Path, names: Sequence[str] = LOCK_QUESTIONS) -> None:
    """Measure the reads while nothing happens, while another node is fed, and while the node itself is."""
    report.section("The API beside the chain lock")
    if not have_wrk():
        report.text("Not measured: wrk is not installed.")
        return
    height = len(read_blocks(path))
    report.text(
        f"The block of height {height - BELOW_TIP}; requests a second (99th percentile in milliseconds), each the median of "
        f"{ROUNDS} windows of {LOCK_WINDOW_S} s, the three columns in turn. Fed: a client has the node leave its last "
        f"{BELOW_TIP} full blocks and connect them again, without pause. What this costs because two cores do more work shows "
        "the column *another node fed*: the same is done to a second node on the same machine, with which nothing is shared "
        f"but the processor. Load average before: {load_average()}."
    )
    with loaded(work / "api", path, height) as node, loaded(work / "api-other", path, height) as other:
        asked = questions(node, block_hashes(node, height - BELOW_TIP, 1))
        cells = {(name, clients): asked[name] for name in names for clients in LOCK_CLIENTS}
        for (_, clients), requests in cells.items():
            run_load(node.rpc_port, requests, clients, LOCK_WINDOW_S)
        found = lock_windows(node, other, height, cells)
    rows: list[list[object]] = []
    for (name, clients), columns in found.items():
        loads = [Load(*[median(numbers) for numbers in zip(*windows, strict=True)]) for windows in columns]
        idle, beside, fed = (load.p99_ms for load in loads)
        shown = [f"{load.per_second:,.0f} ({load.p99_ms:,.1f})" for load in loads]
        rows.append([f"{name}, {clients}", *shown, fed / idle, fed / beside])
    head = ["clients", "idle", "another node fed", "fed", "p99, fed to idle", "p99, fed to another node fed"]
    report.table(head, rows)


def lock_windows(
    node: BenchNode, other: BenchNode, height: int, cells: Mapping[tuple[str, int], Sequence[Request]]
) -> dict[tuple[str, int], list[list[Load]]]:
    """Return the windows of each question and number of clients: idle, while another node is fed, while the node is.

    A feeder goes on for all cells of a column: to start and end one for each window would take longer than the windows.
    """
    found: dict[tuple[str, int], list[list[Load]]] = {cell: [[], [], []] for cell in cells}
    for _ in range(ROUNDS):
        for column, fed in enumerate((None, other, node)):
            with Feeder(fed, height) if fed is not None else nullcontext():
                for cell, requests in cells.items():
                    load = run_load(node.rpc_port, requests, cell[1], LOCK_WINDOW_S)
                    found[cell][column].append(load)
                    print(*cell, ("idle", "another node fed", "fed")[column], load, flush=True)
    return found
