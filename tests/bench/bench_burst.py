"""A burst of 100,000 messages of `rawtx`, heard by a fast subscriber alone and then beside a slow one.

Owns: the burst (full blocks taken back and connected again), the two subscribers, the table. Never: the node's insides. The slow
one is the client library with a small high-water mark and a pause after each message: what it loses it fetches. The delay of
the fast one is from the commit that made a block's row durable until it has the block's last transaction.
"""

import json
import statistics
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.chain_file import MAGIC, read_blocks
from bench.report import Report, load_average
from clarion.node.params.chain_params import select_params
from clarion.notifiers import client
from helpers.blk_files import join_blocks
from helpers.node import Node, free_port

BLOCKS = 20
SLOW_HWM = 100
PAUSE_S = 0.02
TIMEOUT_S = 200.0
FIELDS = ("messages", "seconds", "delay", "delay_max", "p99", "p9999")


class Reader:
    """Reads one topic with the client library until it is stopped."""

    def __init__(self, node: Node, replay: str, *topics: str, hwm: int = 0, pause_s: float = 0.0) -> None:
        self.connected = threading.Event()
        self.moments: list[int] = []
        self.steps: list[tuple[bytes, int]] = []
        self.bodies: dict[int, bytes] = {}
        self.pause_s = pause_s
        self.last = -1
        self._stop = False
        self._source = client.core_messages(
            node.zmq_address, ["rawtx", *topics], replay, hwm=hwm, on_connect=self.connected.set
        )
        threading.Thread(target=self._run, daemon=True).start()
        assert self.connected.wait(30)

    def _run(self) -> None:
        for topic, body, counter in self._source:
            if topic == "sequence":
                # Behind the last transaction of a block: its hash, and C or D.
                if body[32:] in (b"C", b"D"):
                    self.steps.append((body, time.monotonic_ns()))
                continue
            self.moments.append(time.monotonic_ns())
            self.bodies[counter] = sha256(body).digest()[:8]
            self.last = counter
            if self._stop:
                return
            if self.pause_s:
                time.sleep(self.pause_s)

    def stop(self) -> None:
        self._stop = True


def _burst(node: Node, first: str) -> None:
    node.rpc("invalidateblock", first)
    node.rpc("reconsiderblock", first)
    node.rpc("syncwithvalidationinterfacequeue")


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def _spread(reader: Reader, begin: int) -> dict[str, float]:
    """Return what a fast subscriber saw: seconds from the first message to the last, and pauses between messages in ms."""
    moments = reader.moments[begin:]
    pauses = sorted((after - before) / 1e6 for before, after in pairwise(moments))
    return {
        "messages": len(moments),
        "seconds": (moments[-1] - moments[0]) / 1e9,
        "p99": pauses[len(pauses) * 99 // 100],
        "p9999": pauses[len(pauses) * 9999 // 10000],
    }


def _delays(node: Node, commits: Path, steps: Sequence[tuple[bytes, int]]) -> dict[str, float]:
    """Return the milliseconds from the commit of each of the last blocks to its last message: median and longest."""
    fields = {"from": "start", "types": ["block_connected", "block_disconnected"], "wait": 0, "limit": 1000}
    headers = {"Authorization": node.authorization()}
    _, body = node.request("POST", "/v1/events", json.dumps(fields).encode(), headers)
    rows = [message for message in json.loads(body)["messages"] if "id" in message][-len(steps) :]
    durable = [tuple(map(int, line.split())) for line in commits.read_text().splitlines()]
    seqs = [seq for _, seq in durable]
    delays = []
    for row, (told, moment) in zip(rows, steps, strict=True):
        assert told[:32].hex() == row["hash"], "the steps of the chain are not those of the log"
        commit = durable[bisect_left(seqs, int(row["id"].split(".")[1]))][0]
        delays.append((moment - commit) / 1e6)
    return {"delay": statistics.median(delays), "delay_max": max(delays)}


def measure(path: Path, work: Path) -> dict[str, Any]:
    """Return what the fast subscriber saw alone and beside the slow one, and what became of the slow one."""
    raws = read_blocks(path)
    chain = work / "all.dat"
    join_blocks(chain, MAGIC, [select_params("regtest").genesis.raw, *raws])
    replay = f"tcp://127.0.0.1:{free_port()}"
    fetched = [0]
    fetch = client._fetch

    def counting(*arguments: Any) -> Any:
        for each in fetch(*arguments):
            fetched[0] += 1
            yield each

    client._fetch = counting  # type: ignore[assignment]
    options = (f"-loadblock={chain}", "-par=1", "-maxtipage=9999999999", f"-zmqreplay={replay}")
    found: dict[str, Any] = {"alone": [], "beside": []}
    node = Node(work / "node", *options, topics=["rawtx", "sequence"])
    commits = work / "commits"
    node.program = [sys.executable, "-m", "bench.commit_clock", str(commits)]
    with node:
        _wait(lambda: bool(node.rpc("getblockcount") == len(raws)))
        first = node.rpc("getblockhash", len(raws) - BLOCKS + 1)
        fast = Reader(node, replay, "sequence")
        for name in ("warm", "alone", "beside"):
            begin, steps = len(fast.moments), len(fast.steps)
            if name == "beside":
                slow = Reader(node, replay, hwm=SLOW_HWM, pause_s=PAUSE_S)
            _burst(node, first)
            _wait(lambda steps=steps: len(fast.steps) - steps >= 2 * BLOCKS)  # type: ignore[misc]
            if name != "warm":
                found[name] = {**_spread(fast, begin), **_delays(node, commits, fast.steps[steps:])}
        target, begun = fast.last, time.monotonic()
        slow.pause_s = 0.0
        # The last messages may have been lost, too; what comes behind them shows that.
        _wait(lambda: bool(node.rpc("generatetodescriptor", 1, "raw(51)")) and slow.last >= target)
        lowest = min(slow.bodies)
        assert sorted(slow.bodies) == list(range(lowest, max(slow.bodies) + 1)), "messages are missing"
        assert all(fast.bodies.get(counter, body) == body for counter, body in slow.bodies.items())
        found["slow"] = {"messages": target - lowest + 1, "fetched": fetched[0], "seconds": time.monotonic() - begun}
        fast.stop()
        slow.stop()
        node.rpc("generatetodescriptor", 1, "raw(51)")
    return found


def run_burst(report: Report, path: Path, work: Path, rounds: int) -> None:
    """Measure and tell."""
    report.section("A burst, and a subscriber that is too slow")
    report.text(
        f"{BLOCKS} full blocks are taken back and connected again: more than 100,000 messages of `rawtx`. Both subscribers use the client "
        f"library; the slow one has a mark of {SLOW_HWM} (the node's is 1,000) and pauses {PAUSE_S * 1000:.0f} ms behind each message "
        f"until the burst is over. Delay: from the commit of a block to the last message of its transactions. Medians of {rounds} runs. Load average before: {load_average()}."
    )
    runs = [_child(path, work / "burst") for _ in range(rounds)]
    names = {"alone": "the fast one, alone", "beside": "the fast one, beside the slow one"}
    rows: list[list[object]] = [
        [
            label,
            *(statistics.median(run[name][field] for run in runs) for field in FIELDS),
        ]
        for name, label in names.items()
    ]
    head = ["messages", "first to last, s", "delay, ms", "longest, ms", "99 % of pauses below, ms", "99.99 % below, ms"]
    report.table(["", *head], rows)
    slow = [statistics.median(run["slow"][field] for run in runs) for field in ("messages", "fetched", "seconds")]
    report.text(
        f"Of {slow[0]:,.0f} messages the slow one had to fetch {slow[1]:,.0f}, and had them all {slow[2]:.1f} s after it was slow no more."
    )


def _child(path: Path, work: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.bench_burst", str(path), str(work)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


if __name__ == "__main__":
    import shutil

    place = Path(sys.argv[2])
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        print(json.dumps(measure(Path(sys.argv[1]), place)))
    finally:
        shutil.rmtree(place, ignore_errors=True)
