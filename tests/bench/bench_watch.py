"""A million watched scripts: how much later the last message of a full block comes than with none.

Owns: two nodes on the same blocks, one of which is asked to watch, and the table. Never: validation, which is over by then:
all times are from the block's commit.
"""

import http.client
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import zmq

from bench.chain_file import MAGIC, read_blocks
from bench.report import Report, load_average
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block
from helpers.blk_files import join_blocks
from helpers.node import Node, free_port

SCRIPTS = 1_000_000
STREAMS = 4
"""Subscribers that share the million scripts of the filters."""

PAYMENTS = 25
"""So many payments of a block, one in a hundred, go to watched scripts."""

REST_S = 1.0
TIMEOUT_S = 60.0


class Subscriber:
    """Notes when the message that ends a block came, by the block's hash. Reads on a thread of its own."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        self.messages = 0
        self._changed = threading.Condition()

    def note(self, block_hash: str) -> None:
        with self._changed:
            self.seen[block_hash] = time.monotonic_ns()
            self._changed.notify_all()

    def wait(self, block_hash: str) -> int:
        with self._changed:
            assert self._changed.wait_for(lambda: block_hash in self.seen, TIMEOUT_S), "a message did not come"
            return self.seen[block_hash]


class ZmqSubscriber(Subscriber):
    """Topics at one address; a message that begins with `last` and holds the hash is the last of a block."""

    def __init__(self, address: str, topics: Sequence[str], last: bytes) -> None:
        super().__init__()
        self._address, self._topics, self._last = address, topics, last
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.SUB)
        socket.set(zmq.RCVHWM, 0)
        for topic in self._topics:
            socket.subscribe(topic)
        socket.connect(self._address)
        while True:
            kind, body, _ = socket.recv_multipart()
            self.messages += 1
            if kind == b"hashblock" == self._last:
                self.note(body.hex())
            elif kind == b"event" and b'"type":"tip_changed"' in body:
                self.note(json.loads(body)["hash"])


class StreamSubscriber(Subscriber):
    """Server-Sent Events with a filter."""

    def __init__(self, node: Node, fields: dict[str, Any]) -> None:
        super().__init__()
        self.is_live = threading.Event()
        self._request = (node.rpc_port, json.dumps(fields), node.authorization())
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        port, body, authorization = self._request
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        connection.request("POST", "/v1/events", body, {"Authorization": authorization})
        kind = b""
        with suppress(OSError, http.client.HTTPException):
            for line in connection.getresponse():
                if line.startswith(b"event: "):
                    self.messages += 1
                    kind = line[7:].strip()
                    if kind == b"live":
                        self.is_live.set()
                elif kind == b"tip_changed" and line.startswith(b"data: "):
                    self.note(json.loads(line[6:])["hash"])


class Side:
    """A node with subscribers for everything; with `scripts`, it watches them too."""

    def __init__(self, folder: Path, chain: Path, height: int, stack: ExitStack, scripts: Sequence[bytes] = ()) -> None:
        self.core, self.events = (f"tcp://127.0.0.1:{free_port()}" for _ in range(2))
        self.commits = folder / "commits"
        folder.mkdir(parents=True)
        options = [
            f"-loadblock={chain}",
            "-par=1",
            "-maxtipage=9999999999",
            "-apiworkers=1",
            f"-zmqpubevent={self.events}",
        ]
        options += [f"-zmqpub{topic}={self.core}" for topic in ("rawtx", "hashtx", "hashblock")]
        options += ["-zmqpubrawtxhwm=0", "-zmqpubhashtxhwm=0", "-zmqpubhashblockhwm=0", "-zmqpubeventhwm=0"]
        options += ["-watches"] if scripts else []
        self.node = Node(folder, *options)
        self.node.program = [sys.executable, "-m", "bench.commit_clock", str(self.commits)]
        stack.enter_context(self.node)
        _wait(lambda: self.node.rpc("getblockcount") == height)
        topics = ("rawtx", "hashtx", "hashblock")
        self.subscribers: dict[str, Subscriber] = {
            "Core topics": ZmqSubscriber(self.core, topics, b"hashblock"),
            "-zmqpubevent": ZmqSubscriber(self.events, ("event",), b""),
            "/v1/events": StreamSubscriber(self.node, {"details": ["fee"]}),
        }
        self.watchers = [
            StreamSubscriber(
                self.node,
                {
                    "types": ["tx_confirmed", "tip_changed"],
                    "scripts": [script.hex() for script in scripts[at::STREAMS]],
                },
            )
            for at in range(STREAMS if scripts else 0)
        ]
        if scripts:
            self._watch([script.hex() for script in scripts])
        for stream in (self.subscribers["/v1/events"], *self.watchers):
            assert isinstance(stream, StreamSubscriber)
            assert stream.is_live.wait(TIMEOUT_S)

    def _watch(self, scripts: Sequence[str]) -> None:
        half = len(scripts) // 2
        self.node.rpc("addwatch", "many", {"scripts": scripts[:half]})
        self.node.rpc("extendwatch", "many", {"scripts": scripts[half:]})

    def tell(self, raw: bytes, block_hash: str) -> dict[str, float]:
        """Submit a block; return the milliseconds from its commit to the last message, by subscriber."""
        before = len(self._moments())
        result = self.node.rpc("submitblock", raw.hex())
        assert result is None, result
        seen = {name: each.wait(block_hash) for name, each in self.subscribers.items()}
        if self.watchers:
            seen["watchers"] = max(each.wait(block_hash) for each in self.watchers)
        commit = self._moments()[before]
        return {name: (moment - commit) / 1e6 for name, moment in seen.items()}

    def _moments(self) -> list[int]:
        lines = self.commits.read_text().splitlines() if self.commits.exists() else []
        return [int(line.split()[0]) for line in lines]


def _wait(condition: Any) -> None:
    deadline = time.monotonic() + 4 * TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.2)


def _scripts(raws: Sequence[bytes]) -> list[bytes]:
    """Return the million: some of what the blocks pay, and others of the same kinds."""
    rng = random.Random(1)
    found = {script for raw in raws for script in _paid(raw)}
    while len(found) < SCRIPTS:
        kind = rng.randrange(3)
        found.add(
            (
                b"\x00\x14" + rng.randbytes(20),
                b"\x51\x20" + rng.randbytes(32),
                b"\x76\xa9\x14" + rng.randbytes(20) + b"\x88\xac",
            )[kind]
        )
    ordered = sorted(found)
    rng.shuffle(ordered)
    return ordered


def _paid(raw: bytes) -> list[bytes]:
    """Return scripts that few of a block's transactions pay: the chain has few keys, most scripts are in many."""
    scripts = Counter(output.script_pubkey for tx in Block.parse(raw).txs for output in tx.outputs)
    rare = sorted((count, script) for script, count in scripts.items() if 2 < len(script) < 100)
    found: list[bytes] = []
    payments = 0
    for count, script in rare:
        payments += count
        if payments > PAYMENTS and found:
            break
        found.append(script)
    return found


def measure(path: Path, work: Path, last: int) -> dict[str, list[tuple[float, float]]]:
    """Return, by subscriber, (ms with none, ms with a million) of each block."""
    raws = read_blocks(path)
    chain = work / "start.dat"
    join_blocks(chain, MAGIC, [select_params("regtest").genesis.raw, *raws[:-last]])
    found: dict[str, list[tuple[float, float]]] = {}
    with ExitStack() as stack:
        height = len(raws) - last
        plain = Side(work / "plain", chain, height, stack)
        watching = Side(work / "watching", chain, height, stack, _scripts(raws[-last:]))
        for number, raw in enumerate(raws[-last:]):
            block_hash = Block.parse(raw).hash[::-1].hex()
            sides = [plain, watching] if number % 2 else [watching, plain]
            times = {}
            for side in sides:
                times[side] = side.tell(raw, block_hash)
                # What is done behind a commit, flush and indexes, must be over.
                time.sleep(REST_S)
            for name in (*times[plain], "the last of all"):
                without, with_ = (_time(times[side], name) for side in (plain, watching))
                found.setdefault(name, []).append((without, with_))
        told = sum(each.messages for each in watching.watchers)
        assert told > last, "the watchers were told nothing"
    return found


def _time(times: dict[str, float], name: str) -> float:
    return times.get(name, max(times.values()))


def run_watch(report: Report, path: Path, work: Path, last: int) -> None:
    """Measure and tell."""
    report.section("A million watched scripts")
    report.text(
        f"Two nodes, SQLite, `-par=1`, are given the same {last} blocks of 2,500 transactions in turn. One watches nothing; the other has a "
        f"watch of {SCRIPTS:,} scripts and {STREAMS} streams whose filters share as many; about {PAYMENTS} payments of each block go to them. "
        "Milliseconds from the block's commit until a subscriber has its last message (`tip_changed`, or `hashblock`); "
        "*the last of all* counts the streams with filters too. The ratio is the median of the blocks' ratios. "
        f"Load average before: {load_average()}."
    )
    command = [sys.executable, "-m", "bench.bench_watch", str(path), str(work / "watch"), str(last)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, list[list[float]]] = json.loads(output.splitlines()[-1])
    rows: list[list[object]] = []
    for name, pairs in found.items():
        without, with_ = (statistics.median(pair[at] for pair in pairs) for at in (0, 1))
        rows.append([name, len(pairs), without, with_, statistics.median(pair[1] / pair[0] for pair in pairs)])
    report.table(["", "blocks", "none, ms", "a million, ms", "ratio"], rows)


if __name__ == "__main__":
    import shutil

    place = Path(sys.argv[2])
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        print(json.dumps(measure(Path(sys.argv[1]), place, int(sys.argv[3]))))
    finally:
        shutil.rmtree(place, ignore_errors=True)
