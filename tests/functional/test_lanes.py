"""Lanes on a real node: delivery to a file and a program, the operator's calls, kills."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from helpers.anyone import mine
from helpers.event_source import wait_until
from helpers.node import Node, RpcFailure, events_process_of, run_program
from helpers.webhook_server import WebhookServer

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
FILE = "events.jsonl"


def _told(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()] if path.exists() else []


def _auth(node: Node) -> tuple[str, str]:
    user, _, password = node.cookie().partition(":")
    return user, password


def _everything(node: Node) -> list[str]:
    url = f"http://127.0.0.1:{node.rpc_port}/v1/events"
    found: list[str] = []
    answer: dict[str, Any] = {"cursor": "start", "more": True}
    while answer["more"]:
        params = {"from": answer["cursor"], "wait": "0"}
        answer = httpx.get(url, params=params, auth=_auth(node), timeout=30).json()
        found += [each["id"] for each in answer["messages"] if "id" in each]
    return found


@pytest.mark.parametrize("process", ["1", "0"])
def test_a_file_has_the_whole_history_once_across_kills(tmp_path: Path, process: str) -> None:
    path = tmp_path / FILE
    node = Node(
        tmp_path, "-par=1", f"-eventsprocess={process}", f"-notify=file:{path}?from=start&name=f", topics=["rawtx"]
    )
    with node:
        for round_ in range(3):
            mine(node, 3)
            if round_ == 1:
                node.rpc("invalidateblock", node.rpc("getbestblockhash"))
                node.rpc("generatetodescriptor", 2, "raw(51)")
            assert node.process is not None
            if round_ == 0 and process == "1":
                delivery = events_process_of(node)
                assert delivery is not None
                os.kill(delivery, signal.SIGKILL)
            else:
                node.kill()
                node.start()
        wait_until(lambda: _told(path)[-1:] == _everything(node)[-1:], timeout_s=60)
        assert _told(path) == _everything(node)


def test_operator_sees_pauses_and_moves_lanes_by_rpc_http_and_command(tmp_path: Path) -> None:
    path = tmp_path / FILE
    with Node(tmp_path, "-par=1", f"-notify=file:{path}?name=f&types=block_connected", topics=["rawtx"]) as node:
        wait_until(lambda: len(_told(path)) == 1)  # the genesis block
        assert [lane["name"] for lane in node.rpc("listlanes")] == ["zmq", "f"]
        assert node.rpc("pauselane", "f")["state"] == "paused"
        mine(node, 2)
        url = f"http://127.0.0.1:{node.rpc_port}/v1/lanes"
        state = httpx.get(url, auth=_auth(node)).json()[1]
        assert (state["state"], state["lag_events"], state["sent"]) == ("paused", 6, 1)
        answer = httpx.post(url, json={"action": "resume", "lane": "f"}, auth=_auth(node))
        assert (answer.status_code, answer.json()["state"]) == (200, "running")
        wait_until(lambda: len(_told(path)) == 3)
        options = (f"-datadir={tmp_path}", "-regtest", f"-rpcport={node.rpc_port}")
        done = run_program("events", "lanes", "reset", "f", "height:2", *options)
        assert (done.returncode, json.loads(done.stdout)["name"]) == (0, "f")
        wait_until(lambda: len(_told(path)) == 4)
        assert [lane["name"] for lane in json.loads(run_program("events", "lanes", *options).stdout)] == ["zmq", "f"]
        assert "no lane 'g'; there are: zmq, f" in run_program("events", "lanes", "pause", "g", *options).stderr
        assert "clarion events lanes takes" in run_program("events", "lanes", "eat", *options).stderr


def test_what_a_program_refuses_for_good_becomes_a_dead_letter(tmp_path: Path) -> None:
    program, refuse = tmp_path / "program", tmp_path / "refuse"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\ntest ! -e {refuse}\n")
    program.chmod(0o755)
    refuse.touch()
    lane = f"-notify=exec:{program}?name=x&types=tip_changed&attempts=2&retry=0"
    with Node(tmp_path, "-par=1", lane) as node:
        mine(node, 1)
        wait_until(lambda: len(node.rpc("listdeadletters", "x")) == 2, timeout_s=30)  # the genesis block's, too
        letter = node.rpc("listdeadletters", "x")[0]
        assert (letter["attempts"], "ended with status 1" in letter["error"]) == (2, True)
        refuse.unlink()
        assert node.rpc("replaydeadletters", "x", "all") == {"letters": 2}
        wait_until(lambda: node.rpc("listdeadletters", "x") == [], timeout_s=30)
        assert node.rpc("dropdeadletters", "x", "all") == {"letters": 0}
        assert node.rpc("resumelane", "x")["sent"] == 2
        with pytest.raises(RpcFailure, match="bad-cursor"):
            node.rpc("resetlane", "x", "yesterday")


def test_a_webhook_is_told_and_ends_its_lane_when_it_wants_nothing_more(tmp_path: Path) -> None:
    with WebhookServer() as server:
        lane = f"-notify={server.url}?name=w&types=tip_changed&private=1&secret={SECRET}"
        with Node(tmp_path, "-par=1", lane) as node:
            mine(node, 2)
            wait_until(lambda: len(server.got) == 3, timeout_s=30)
            told = [Webhook(SECRET).verify(posted.body, posted.headers)["data"]["height"] for posted in server.got]
            assert told == [0, 1, 2]
            server.answer = lambda posted: (410, {})
            mine(node, 1)
            wait_until(lambda: node.rpc("listlanes")[0]["state"] == "stopped", timeout_s=30)
            assert SECRET not in node.debug_log()


def test_lanes_answer_those_who_may_ask(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1") as node:
        url = f"http://127.0.0.1:{node.rpc_port}/v1/lanes"
        assert httpx.get(url).status_code == 401
        assert httpx.get(url, auth=_auth(node)).json() == []
        assert httpx.put(url, auth=_auth(node)).status_code == 405
        for body, error in (
            (b"{", "no JSON"),
            (b"[]", "no JSON object"),
            (b'{"action": "eat"}', "action is one of"),
            (b'{"action": "reset", "lane": "a"}', "reset needs from"),
            (b'{"action": "pause", "lane": "a", "x": 1}', "pause knows no 'x'"),
            (b'{"action": "pause", "lane": "a"}', "no lane 'a'; there are: none"),
        ):
            answer = httpx.post(url, content=body, auth=_auth(node))
            assert (answer.status_code, error in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("-notify=carrier-pigeon://x", "no transport for 'carrier-pigeon'"),
        ("-notify=file:/no/such/folder/x", "there is no folder /no/such/folder"),
        ("-notify=exec:/bin/true?tpyes=x", "did you mean types"),
    ],
)
def test_a_lane_that_makes_no_sense_stops_the_start(tmp_path: Path, option: str, message: str) -> None:
    done = run_program(f"-datadir={tmp_path}", "-regtest", "-server=0", "-connect=0", option)
    assert (done.returncode, message in done.stderr) == (1, True)


def test_two_lanes_of_one_name_stop_the_start(tmp_path: Path) -> None:
    done = run_program(f"-datadir={tmp_path}", "-regtest", "-connect=0", *["-notify=exec:/bin/true"] * 2)
    assert "two lanes are called exec:/bin/true" in done.stderr
