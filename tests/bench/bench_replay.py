"""Replay from a cold start: how many blocks a second a node that was just started tells from its log.

Owns: one node that is started anew, with its files out of the page cache, for each way; the table. Never: a client that decodes.
"""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq

from bench.chain_file import MAGIC, read_blocks
from bench.report import Report, load_average
from clarion.node.params.chain_params import select_params
from helpers.blk_files import join_blocks
from helpers.node import Node, free_port

BLOCKS_ONLY = {"types": ["block_connected"]}
Way = Callable[[Node, str, dict[str, Any]], tuple[int, int]]


def forget_files(folder: Path) -> None:
    """Have the system drop what it holds of a folder's files in memory."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def over_http(node: Node, _: str, fields: dict[str, Any]) -> tuple[int, int]:
    """Return (messages, bytes) of Server-Sent Events up to `live`."""
    connection = http.client.HTTPConnection("127.0.0.1", node.rpc_port, timeout=600)
    body = json.dumps({"from": "start", **fields})
    connection.request("POST", "/v1/events", body, {"Authorization": node.authorization()})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    messages, size, tail = 0, 0, b""
    while chunk := answer.read1(1 << 18):
        size += len(chunk)
        data = tail + chunk
        messages += data.count(b"\ndata: ") - tail.count(b"\ndata: ")
        if b"event: live" in data:
            break
        tail = data[-16:]
    connection.close()
    return messages, size


def over_zmq(node: Node, replay: str, fields: dict[str, Any]) -> tuple[int, int]:
    """Return (messages, bytes) of the replay socket up to its end."""
    context: zmq.Context[Any] = zmq.Context()
    socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    socket.set(zmq.RCVHWM, 0)
    socket.set(zmq.RCVTIMEO, 120_000)
    socket.connect(replay)
    socket.send_multipart([b"bench", json.dumps({"from": "start", **fields}).encode()])
    messages, size = 0, 0
    while True:
        _, kind, *body = socket.recv_multipart()
        assert kind != b"error", body
        if kind == b"end":
            break
        messages += 1
        size += sum(map(len, body))
    context.destroy(0)
    return messages, size


WAYS: dict[str, tuple[Way, dict[str, Any]]] = {
    "`-zmqreplay`, blocks only": (over_zmq, BLOCKS_ONLY),
    "`-zmqreplay`, everything": (over_zmq, {}),
    "`/v1/events`, blocks only": (over_http, BLOCKS_ONLY),
    "`/v1/events`, everything": (over_http, {}),
}


def measure(path: Path, work: Path) -> dict[str, Any]:
    """Return, by way, messages, bytes and seconds."""
    raws = read_blocks(path)
    chain = work / "all.dat"
    join_blocks(chain, MAGIC, [select_params("regtest").genesis.raw, *raws])
    replay = f"tcp://127.0.0.1:{free_port()}"
    folder = work / "node"
    with Node(folder, f"-loadblock={chain}", "-maxtipage=9999999999") as node:
        deadline = time.monotonic() + 200
        while node.rpc("getblockcount") != len(raws):
            assert time.monotonic() < deadline, "the chain was not loaded in time"
            time.sleep(0.2)
    found = {}
    for name, (way, fields) in WAYS.items():
        forget_files(folder)
        with Node(folder, "-maxtipage=9999999999", "-checkblocks=1", f"-zmqreplay={replay}") as node:
            started = time.monotonic()
            messages, size = way(node, replay, fields)
            found[name] = {"messages": messages, "bytes": size, "seconds": time.monotonic() - started}
    return {"blocks": len(raws) + 1, "ways": found}


def run_replay(report: Report, path: Path, what: str, work: Path) -> None:
    """Measure and tell."""
    report.section("Replay from a cold start")
    output = subprocess.run(
        [sys.executable, "-m", "bench.bench_replay", str(path), str(work / "replay")],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    report.text(
        f"{what}: {found['blocks']} blocks from genesis on, `from=start`. Before each row the files are put out of the page cache and the "
        "node is started anew; the time is from the request to the last message, at a client that counts and does not "
        f"decode. Load average: {load_average()}."
    )
    rows: list[list[object]] = [
        [
            name,
            each["messages"],
            each["bytes"] / 1e6,
            each["seconds"],
            found["blocks"] / each["seconds"],
            each["messages"] / each["seconds"],
        ]
        for name, each in found["ways"].items()
    ]
    report.table(["", "messages", "MB", "seconds", "blocks a second", "messages a second"], rows)


if __name__ == "__main__":
    import shutil

    place = Path(sys.argv[2])
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        print(json.dumps(measure(Path(sys.argv[1]), place)))
    finally:
        shutil.rmtree(place, ignore_errors=True)
