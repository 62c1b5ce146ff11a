"""Long polls of getblocktemplate against a real node: many at once, clients that leave, and the node's end."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from helpers.node import Node, RpcFailure

RULES = {"rules": ["segwit"]}
MORE_THAN_THREADS = 20


@pytest.fixture(params=["0", "1"], ids=["in-process", "one-worker"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    """Return a node with one block, its API inside and in a process of its own."""
    with Node(tmp_path, f"-apiworkers={request.param}", "-par=1", "-eventsprocess=0") as node:
        node.rpc("generatetodescriptor", 1, "raw(51)")
        yield node


def poll_request(node: Node) -> dict[str, Any]:
    return {**RULES, "longpollid": node.rpc("getblocktemplate", RULES)["longpollid"]}


def open_polls(node: Node) -> int:
    commands = node.rpc("getrpcinfo")["active_commands"]
    return sum(command["method"] == "getblocktemplate" for command in commands)


def wait_for_polls(node: Node, count: int) -> None:
    deadline = time.monotonic() + 20
    while open_polls(node) != count:
        assert time.monotonic() < deadline, f"{open_polls(node)} long polls instead of {count}"
        time.sleep(0.05)


def test_many_wait_while_others_are_answered(node: Node) -> None:
    request = poll_request(node)
    with ThreadPoolExecutor(MORE_THAN_THREADS) as clients:
        polls = [clients.submit(node.rpc, "getblocktemplate", request) for _ in range(MORE_THAN_THREADS)]
        wait_for_polls(node, MORE_THAN_THREADS)
        assert not any(poll.done() for poll in polls)
        (block_hash,) = node.rpc("generatetodescriptor", 1, "raw(51)")
        assert {poll.result(30)["previousblockhash"] for poll in polls} == {block_hash}


def test_stop_answers_those_who_wait(node: Node) -> None:
    request = poll_request(node)
    with ThreadPoolExecutor(1) as clients:
        poll = clients.submit(node.rpc, "getblocktemplate", request)
        wait_for_polls(node, 1)
        started = time.monotonic()
        assert node.stop() == 0
        with pytest.raises(RpcFailure) as caught:
            poll.result(30)
    assert (caught.value.code, caught.value.message) == (-9, "Shutting down")
    assert time.monotonic() - started < 20


def test_a_client_that_leaves_is_forgotten(node: Node) -> None:
    body = json.dumps({"method": "getblocktemplate", "params": [poll_request(node)]}).encode()
    head = f"POST / HTTP/1.1\r\nHost: x\r\nAuthorization: {node.authorization()}\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", node.rpc_port), timeout=10) as connection:
        connection.sendall(head.encode() + body)
        wait_for_polls(node, 1)
    wait_for_polls(node, 0)
