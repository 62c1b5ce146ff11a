"""The event stream over HTTP on a real node: Server-Sent Events, long poll, WebSocket; kills and restarts."""

import base64
import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from helpers.anyone import mine, mine_money, send, spend
from helpers.event_source import wait_until
from helpers.node import Node, run_program

BLOCKS = "block_connected,block_disconnected"


def _auth(node: Node) -> tuple[str, str]:
    user, _, password = (node.chain_dir / ".cookie").read_text().partition(":")
    return user, password


def _url(node: Node, scheme: str = "http") -> str:
    return f"{scheme}://127.0.0.1:{node.rpc_port}/v1/events"


def _poll(node: Node, **fields: Any) -> dict[str, Any]:
    answer = httpx.get(_url(node), params={"wait": "5", **fields}, auth=_auth(node), timeout=30)
    return {"status": answer.status_code, **answer.json()}


def _poll_all(node: Node, **fields: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        answer = _poll(node, **{**fields, "wait": "0"})
        found += answer["messages"]
        fields["from"] = answer["cursor"]
        if not answer["more"]:
            return found


def _mine_others(node: Node, count: int) -> None:
    """Mine blocks that differ from those that were invalidated."""
    node.rpc("generatetodescriptor", count, "raw(51)")


class SseReader:
    """Reads a stream on a thread of its own."""

    def __init__(self, node: Node, **fields: Any) -> None:
        self.events: list[dict[str, Any]] = []
        self.last_id = ""
        self._request = (_url(node), fields, _auth(node))
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        url, fields, auth = self._request
        try:
            with httpx.stream("GET", url, params=fields, auth=auth, timeout=60) as answer:
                for kind, data in self._blocks(answer.iter_lines()):
                    if data:
                        self.events.append({"sse": kind, **json.loads(data)})
        except httpx.HTTPError:
            pass

    def _blocks(self, lines: Iterator[str]) -> Iterator[tuple[str, str]]:
        kind = data = ""
        for line in lines:
            name, _, value = line.partition(": ")
            if name == "id":
                self.last_id = value
            elif name == "event":
                kind = value
            elif name == "data":
                data = value
            elif not line:
                yield kind, data
                kind = data = ""

    def ids(self) -> list[str]:
        return [each["id"] for each in self.events if "id" in each]


@pytest.mark.parametrize("apiworkers", ["1", "0"])
def test_stream_polls_and_socket_tell_the_same_history(tmp_path: Path, apiworkers: str) -> None:
    with Node(tmp_path, "-par=1", f"-apiworkers={apiworkers}") as node:
        stream = SseReader(node, **{"from": "start"})
        (money,) = mine_money(node, 1)
        send(node, spend([money]))
        (old,) = mine(node)
        node.rpc("invalidateblock", old)
        _mine_others(node, 2)
        everything = _poll_all(node, **{"from": "start"})
        wait_until(lambda: len(stream.ids()) == len(everything))
        assert stream.ids() == [each["id"] for each in everything]
        assert {"block_disconnected", "tx_added", "tx_unconfirmed"} <= {each["type"] for each in everything}
        undone = _poll(node, **{"from": next(e["cursor"] for e in everything if e["hash"] == old), "on_reorg": "409"})
        assert (undone["status"], undone["code"], undone["undo"]) == (409, "reorganised", [old])
        token = base64.b64encode(":".join(_auth(node)).encode()).decode()
        with connect(_url(node, "ws"), additional_headers={"Authorization": f"Basic {token}"}) as socket:
            socket.send(json.dumps({"op": "subscribe", "id": "a", "from": "height:100", "types": BLOCKS.split(",")}))
            told = [json.loads(socket.recv(10)) for _ in range(3)]
            assert {each["subscription"] for each in told} == {"a"}
            assert told[0]["message"]["height"] == 100
            socket.send(json.dumps({"op": "unsubscribe", "id": "a"}))
            wait_until(lambda: json.loads(socket.recv(10)).get("closed", False))


def test_nobody_reads_without_the_password(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1") as node:
        assert httpx.get(_url(node)).status_code == 401
        assert httpx.get(_url(node), auth=("a", "b")).status_code == 401
        assert _poll(node, types="nothing")["status"] == 400
        assert _poll(node, **{"from": "0" * 16 + f":1.0:5:{'0' * 64}"})["code"] == "other-log"


def test_subscriber_that_resumes_across_kills_has_the_whole_history_once(tmp_path: Path) -> None:
    node = Node(tmp_path, "-par=1")
    ids: list[str] = []
    with node:
        cursor = "start"
        for round_ in range(4):
            stream = SseReader(node, **{"from": cursor})
            mine(node, 3)
            if round_ == 2:
                node.rpc("invalidateblock", node.rpc("getbestblockhash"))
                _mine_others(node, 2)
            wait_until(lambda seen=stream: len(seen.ids()) > 3)  # type: ignore[misc]
            assert node.process is not None
            os.kill(node.process.pid, signal.SIGKILL)
            node.process.wait()
            stream.thread.join(20)
            assert not stream.thread.is_alive()
            ids += stream.ids()
            cursor = stream.last_id
            node.start()
        rest = _poll_all(node, **{"from": cursor})
        everything = [each["id"] for each in _poll_all(node, **{"from": "start"})]
    assert ids + [each["id"] for each in rest if "id" in each] == everything


def test_hundreds_of_idle_subscribers_leave_room_for_calls_and_end_with_the_node(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", "-apiworkers=1") as node:
        streams = [SseReader(node, types="tip_changed") for _ in range(200)]
        wait_until(lambda: all(any(e["sse"] == "live" for e in each.events) for each in streams), timeout_s=60)
        (block,) = mine(node)
        wait_until(lambda: all(each.events[-1].get("hash") == block for each in streams), timeout_s=60)
        assert node.stop() == 0
        for each in streams:
            each.thread.join(20)
            assert not each.thread.is_alive()


def test_command_prints_the_stream_line_by_line(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1") as node:
        mine(node, 3)
        options = (f"-datadir={tmp_path}", "-regtest", f"-rpcport={node.rpc_port}")
        done = run_program("events", "replay", "from=height:2", "types=block_connected", *options)
        assert [json.loads(line)["height"] for line in done.stdout.splitlines()] == [2, 3]
        refused = run_program("events", "replay", "from=height:9", *options)
        assert (refused.returncode, "no-such-height" in refused.stderr) == (1, True)
        assert "clarion events needs" in run_program("events", "eat", *options).stderr
