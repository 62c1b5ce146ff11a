"""From `submitblock` to `rawblock` and from `sendrawtransaction` to `rawtx`, at 1, 10 and 100 subscribers.

Owns: one node, the crowd of subscribers (bench.zmtp_readers, a process of its own), the tables. Never: the node's insides.
Times are from the moment before the client sends its request until a subscriber has the message whole.
"""

import http.client
import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.chain_file import MAGIC, read_blocks
from bench.processor_time import seconds_by_role
from bench.report import Report, load_average
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block
from helpers.blk_files import join_blocks
from helpers.node import TOPICS, Node, events_process_of

CROWDS = (1, 10, 100)
SINGLE = 100
"""So many transactions of a block are sent one by one; the rest, five hundred in a request."""

BATCH = 500
REST_S = 0.7
TIMEOUT_S = 60.0
READERS = "the subscribers"


class Crowd:
    """The process with the subscribers."""

    def __init__(self, address: str, count: int) -> None:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        command = [sys.executable, "-m", "bench.zmtp_readers", host, port, str(count)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.cpu_s()

    def arm(self, topic: str) -> None:
        """Have all wait for the next message of a topic."""
        assert self._ask(topic) == "armed"

    def moments(self) -> list[int]:
        """Return when each had it, once all have."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], TIMEOUT_S)
        assert ready, "a message did not come"
        found: list[int] = json.loads(self._process.stdout.readline())
        return found

    def cpu_s(self) -> float:
        """Return the processor time that they have taken."""
        return float(self._ask("cpu"))

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()

    def _ask(self, command: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(command, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().strip()


class Client:
    """JSON-RPC on one connection."""

    def __init__(self, node: Node) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", node.rpc_port, timeout=120)
        self._headers = {"Authorization": node.authorization(), "Content-Type": "application/json"}

    def call(self, body: bytes) -> Any:
        """Send a request and return the answer."""
        self._connection.request("POST", "/", body, self._headers)
        return json.loads(self._connection.getresponse().read())


def _request(method: str, raw: bytes) -> bytes:
    return json.dumps({"jsonrpc": "1.0", "id": 0, "method": method, "params": [raw.hex()]}).encode()


def _accept(client: Client, crowd: Crowd, txs: Sequence[bytes]) -> list[float]:
    """Send a block's transactions; return the milliseconds of those that are sent one by one, at the last subscriber."""
    times = []
    for raw in txs[:SINGLE]:
        body = _request("sendrawtransaction", raw)
        crowd.arm("rawtx")
        sent = time.monotonic_ns()
        answer = client.call(body)
        assert answer["error"] is None, answer
        times.append((max(crowd.moments()) - sent) / 1e6)
    for at in range(SINGLE, len(txs), BATCH):
        answers = client.call(
            b"[" + b",".join(_request("sendrawtransaction", raw) for raw in txs[at : at + BATCH]) + b"]"
        )
        assert all(answer["error"] is None for answer in answers), answers
    return times


def _tell(client: Client, crowd: Crowd, node: Node, raw: bytes) -> dict[str, Any]:
    """Submit a block; return the milliseconds to the first and the last subscriber, and processor seconds by role."""
    assert node.process is not None
    pids = (node.process.pid, events_process_of(node))
    body = _request("submitblock", raw)
    crowd.arm("rawblock")
    before = {**seconds_by_role(*pids), READERS: crowd.cpu_s()}
    sent = time.monotonic_ns()
    answer = client.call(body)
    assert answer["result"] is None, answer
    moments = crowd.moments()
    after = {**seconds_by_role(*pids), READERS: crowd.cpu_s()}
    return {
        "first": (min(moments) - sent) / 1e6,
        "last": (max(moments) - sent) / 1e6,
        "cpu": {role: after[role] - before.get(role, 0.0) for role in after},
    }


def measure(path: Path, work: Path, last: int) -> list[dict[str, Any]]:
    """Return what each size of crowd saw of its share of the last blocks, every second one of them unseen."""
    raws = read_blocks(path)
    chain = work / "start.dat"
    join_blocks(chain, MAGIC, [select_params("regtest").genesis.raw, *raws[:-last]])
    options = ["-par=2", "-maxtipage=9999999999", "-checkmempool=0", f"-loadblock={chain}"]
    options += [f"-zmqpub{topic}hwm=0" for topic in TOPICS]
    found: list[dict[str, Any]] = []
    node = Node(work / "node", *options, topics=TOPICS)
    if os.environ.get("BITCOIND_BENCHED"):
        node.program = [os.environ["BITCOIND_BENCHED"]]
    with node:
        deadline = time.monotonic() + 200
        while node.rpc("getblockcount") != len(raws) - last:
            assert time.monotonic() < deadline, "the chain was not loaded in time"
            time.sleep(0.2)
        client = Client(node)
        left = raws[-last:]
        for index, count in enumerate(CROWDS):
            share = left[index * last // len(CROWDS) : (index + 1) * last // len(CROWDS)]
            crowd = Crowd(node.zmq_address, count)
            found.append({"subscribers": count, "seen": [], "unseen": [], "rawtx": []})
            for number, raw in enumerate(share):
                kind = "unseen" if number % 2 else "seen"
                if kind == "seen":
                    time.sleep(REST_S)
                    found[-1]["rawtx"] += _accept(client, crowd, [tx.raw for tx in Block.parse(raw).txs[1:]])
                time.sleep(REST_S)
                found[-1][kind].append(_tell(client, crowd, node, raw))
            crowd.close()
    return found


def run_latency(report: Report, path: Path, work: Path, last: int) -> None:
    """Measure and tell."""
    report.section("From a request to its message")
    report.text(
        "`-par=2`, all five topics at one address, no high-water mark; blocks of 2,500 transactions (950 kB). Every "
        "subscriber subscribes to everything. All of them are sockets of one process that reads without decoding: subscribers "
        "that decode take the two cores for themselves. Milliseconds from the moment before the request is sent until the message is "
        "whole at the first and at the last subscriber, medians; seen: all transactions came through the mempool before. "
        f"Load average before: {load_average()}."
    )
    sides = {"": _child(path, work / "latency", last)}
    if reference := os.environ.get("BITCOIND"):
        sides["the reference, "] = _child(path, work / "latency", last, reference)
    rows: list[list[object]] = []
    for side, crowds in sides.items():
        for crowd in crowds:
            rows += [_row(f"{side}{crowd['subscribers']}, {kind}", crowd[kind]) for kind in ("seen", "unseen")]
    report.table(["subscribers, block", "blocks", "`rawblock` first, ms", "last, ms"], rows)
    rows = []
    for side, crowds in sides.items():
        for crowd in crowds:
            times = sorted(crowd["rawtx"])
            rows.append(
                [f"{side}{crowd['subscribers']}", len(times), statistics.median(times), times[len(times) * 9 // 10]]
            )
    report.table(["subscribers", "transactions", "`rawtx` at the last, median, ms", "90 % below, ms"], rows)
    report.text(
        "Processor time from request to the last subscriber, in ms for an unseen block on average (`/proc`'s clock ticks):"
    )
    roles = list(dict.fromkeys(role for crowd in sides[""] for each in crowd["unseen"] for role in each["cpu"]))
    rows = [
        [role, *(statistics.mean(each["cpu"].get(role, 0.0) for each in crowd["unseen"]) * 1000 for crowd in sides[""])]
        for role in roles
    ]
    report.table(["", *(f"{crowd['subscribers']} subscribers" for crowd in sides[""])], rows)


def _row(name: str, blocks: Sequence[dict[str, Any]]) -> list[object]:
    return [name, len(blocks), *(statistics.median(each[field] for each in blocks) for field in ("first", "last"))]


def _child(path: Path, work: Path, last: int, reference: str = "") -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "bench.bench_latency", str(path), str(work), str(last)]
    environment = {**os.environ, "BITCOIND_BENCHED": reference}
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    found: list[dict[str, Any]] = json.loads(output.splitlines()[-1])
    return found


if __name__ == "__main__":
    import shutil

    place = Path(sys.argv[2])
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        print(json.dumps(measure(Path(sys.argv[1]), place, int(sys.argv[3]))))
    finally:
        shutil.rmtree(place, ignore_errors=True)
