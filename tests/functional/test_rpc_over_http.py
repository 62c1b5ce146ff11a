"""RPC against a real node: sockets, processes, authentication and stopping."""

import base64
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.node import Node, RpcFailure, process_ids_below

ALL_IN_ONE = ("-par=1", "-eventsprocess=0")


@pytest.fixture(scope="module", params=["0", "2"], ids=["in-process", "two-workers"])
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Return a node with a few blocks, its API inside and in processes of its own."""
    folder = tmp_path_factory.mktemp("rpc")
    with Node(folder, f"-apiworkers={request.param}", *ALL_IN_ONE) as node:
        node.rpc("generatetodescriptor", 5, "raw(51)")
        yield node


def test_raw_answer(node: Node) -> None:
    """Clients that read by hand: one line of status, a length, never chunked, and the connection stays open."""
    body = b'{"id":"a","method":"getblockcount"}'
    head = f"POST / HTTP/1.1\r\nHost: x\r\nAuthorization: {node.authorization()}\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", node.rpc_port), timeout=10) as connection:
        for _ in range(2):
            connection.sendall(head.encode() + body)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert (answer.status, answer.getheader("Content-Type")) == (200, "application/json")
            assert answer.getheader("Transfer-Encoding") is None
            assert answer.read() == b'{"result":5,"error":null,"id":"a"}\n'
            assert answer.getheader("Server") is None


@pytest.mark.parametrize("wish", ["keep-alive", "close", ""])
def test_the_older_http_keeps_a_connection_for_those_who_ask(node: Node, wish: str) -> None:
    head = "GET /rest/chaininfo.json HTTP/1.0\r\n" + (f"Connection: {wish}\r\n" if wish else "") + "\r\n"
    with socket.create_connection(("127.0.0.1", node.rpc_port), timeout=10) as connection:
        for _ in range(2 if wish == "keep-alive" else 1):
            connection.sendall(head.encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert answer.status == 200
            assert answer.getheader("Connection") == ("keep-alive" if wish == "keep-alive" else "close")
            answer.read()
        if wish != "keep-alive":
            assert connection.recv(1) == b""


def test_calls_of_many_clients(node: Node) -> None:
    best = node.rpc("getbestblockhash")
    results: list[object] = []

    def ask() -> None:
        for method, params in (("getblock", [best, 2]), ("getblockchaininfo", []), ("gettxoutsetinfo", [])):
            results.append(node.rpc(method, *params)["height" if method != "getblockchaininfo" else "blocks"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [5] * 24


def test_changes_are_seen_at_once(node: Node) -> None:
    height = node.rpc("getblockcount")
    (block_hash,) = node.rpc("generatetodescriptor", 1, "raw(51)")
    assert node.rpc("getblockcount") == height + 1
    assert node.rpc("getblock", block_hash)["confirmations"] == 1
    node.rpc("invalidateblock", block_hash)
    assert node.rpc("getblock", block_hash)["confirmations"] == -1
    assert node.rest(f"headers/{block_hash}.json") == (200, b"[]\n")


def test_wrong_password(node: Node) -> None:
    header = "Basic " + base64.b64encode(b"__cookie__:wrong").decode()
    assert node.request("POST", "/", b"{}", {"Authorization": header}) == (401, b"")


def test_what_workers_log_is_in_the_node_s_log(node: Node) -> None:
    node.rpc("logging", ["rpc"])
    deadline = time.monotonic() + 10
    while "ThreadRPCServer method=getblockcount user=__cookie__" not in node.debug_log():
        node.rpc("getblockcount")
        assert time.monotonic() < deadline
        time.sleep(0.1)
    node.request("POST", "/", b"{}", {"Authorization": "Basic eDp5"})
    while "ThreadRPCServer incorrect password attempt from 127.0.0.1" not in node.debug_log():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    node.rpc("logging", [], ["all"])


def test_no_http_at_all(node: Node) -> None:
    with socket.create_connection(("127.0.0.1", node.rpc_port), timeout=10) as connection:
        connection.sendall(b"\x00\xff\r\n\r\n")
        assert b" 400 " in connection.recv(1000)
    assert "Traceback" not in node.read_output()


def test_error_status(node: Node) -> None:
    with pytest.raises(RpcFailure) as caught:
        node.rpc("nosuch")
    assert (caught.value.status, caught.value.code) == (404, -32601)


def test_body_sent_in_chunks(node: Node) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", node.rpc_port, timeout=10)
    chunks = iter([b'{"id":1,"method"', b':"getblockcount"}'])
    connection.request("POST", "/", chunks, {"Authorization": node.authorization()}, encode_chunked=True)
    assert json.loads(connection.getresponse().read())["id"] == 1
    connection.close()


def test_command_line_client(node: Node) -> None:
    cli = [str(Path(sys.executable).parent / "clarion-cli"), f"-datadir={node.datadir}", "-regtest"]
    cli.append(f"-rpcport={node.rpc_port}")
    done = subprocess.run([*cli, "getblockhash", "0"], capture_output=True, text=True, check=True)
    assert done.stdout == "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206\n"
    failed = subprocess.run([*cli, "getblockhash", "99"], capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stderr) == (8, "error code: -8\nerror message:\nBlock height out of range\n")


def test_command_line_client_whose_reader_goes_away(node: Node) -> None:
    cli = str(Path(sys.executable).parent / "clarion-cli")
    command = [cli, f"-datadir={node.datadir}", "-regtest", f"-rpcport={node.rpc_port}", "help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(60) == 1
        assert process.stderr.read() == b""


def api_workers(node: Node) -> list[int]:
    """Return the process ids of the API workers of a node that has no other children of its own."""
    assert node.process is not None
    return [
        pid for pid in process_ids_below(node.process.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_dead_worker_is_replaced_and_none_outlives_the_node(tmp_path: Path) -> None:
    with Node(tmp_path, "-apiworkers=1", *ALL_IN_ONE) as node:
        (worker,) = api_workers(node)
        os.kill(worker, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while api_workers(node) in ([], [worker]) and time.monotonic() < deadline:
            time.sleep(0.1)
        (successor,) = api_workers(node)
        node.wait_ready()
        node.kill()
        while Path(f"/proc/{successor}").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not Path(f"/proc/{successor}").exists()
        node.start()
        assert node.stop() == 0


def test_port_in_use_is_one_line(tmp_path: Path) -> None:
    with Node(tmp_path / "one", "-apiworkers=0", *ALL_IN_ONE) as first:
        second = Node(tmp_path / "two", "-apiworkers=0", *ALL_IN_ONE)
        second.rpc_port = first.rpc_port
        second.spawn()
        assert second.wait() == 1
        errors = [line for line in second.read_output().splitlines() if line.startswith("Error: ")]
        assert len(errors) == 1
        assert errors[0].startswith("Error: Unable to bind to ")


def test_stop_lets_open_calls_finish_and_takes_the_cookie_away(tmp_path: Path) -> None:
    node = Node(tmp_path, "-apiworkers=1", *ALL_IN_ONE)
    node.start()
    assert (node.chain_dir / ".cookie").stat().st_mode & 0o777 == 0o600
    assert node.rpc("stop", 300) == "Clarion stopping"
    assert node.wait() == 0
    assert not (node.chain_dir / ".cookie").exists()
    assert not (node.chain_dir / "control.sock").exists()


def test_options_of_authentication(tmp_path: Path) -> None:
    options = (
        "-apiworkers=0",
        *ALL_IN_ONE,
        "-rpcuser=alice",
        "-rpcpassword=a",
        "-rpcauth=rt:93648e835a54c573682c2eb19f882535$7681e9c5b74bdd85e78166031d2058e1069b3ed7ed967c93fc63abba06f31144",
        "-rpcwhitelist=rt:getblockcount",
        "-rpcwhitelistdefault=0",
    )
    node = Node(tmp_path, *options)
    node.authorization = lambda: "Basic " + base64.b64encode(b"alice:a").decode()  # type: ignore[method-assign]
    with node:
        assert not (node.chain_dir / ".cookie").exists()
        password = b"rt:cA773lm788buwYe4g4WT+05pKyNruVKjQ25x3n0DQcM="
        header = {"Authorization": "Basic " + base64.b64encode(password).decode()}
        assert node.request("POST", "/", b'{"method":"getblockcount"}', header)[0] == 200
        assert node.request("POST", "/", b'{"method":"uptime"}', header)[0] == 403
        assert node.rpc("uptime") >= 0


def head_of(size: int) -> bytes:
    """Return a GET of an unknown path whose request line and headers are `size` bytes long."""
    start, end = b"GET /", b" HTTP/1.1\r\nHost: x\r\n\r\n"
    return start + b"x" * (size - len(start) - len(end)) + end


@pytest.mark.parametrize(("size", "status"), [(8_000, b"404"), (9_000, b"400")])
def test_size_of_a_request_s_head_is_limited(node: Node, size: int, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", node.rpc_port), timeout=10) as connection:
        connection.sendall(head_of(size))
        assert connection.recv(1000).split(b" ")[1] == status


@pytest.mark.parametrize("sent", [b"", b"GET /x HTTP/1.1\r\nHost: x\r\n"], ids=["nothing", "half-a-head"])
def test_client_that_never_completes_a_request_is_left(tmp_path: Path, sent: bytes) -> None:
    with Node(tmp_path, "-apiworkers=0", "-rpcservertimeout=1", *ALL_IN_ONE) as node:
        with socket.create_connection(("127.0.0.1", node.rpc_port), timeout=10) as connection:
            connection.sendall(sent)
            assert connection.recv(100) == b""
        with socket.create_connection(("127.0.0.1", node.rpc_port), timeout=10) as connection:
            connection.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b" 404 " in connection.recv(1000)


@pytest.mark.parametrize("option", ["-rpcauth=nonsense", "-rpccookieperms=everybody"])
def test_credentials_that_can_not_be_read_stop_the_node(tmp_path: Path, option: str) -> None:
    node = Node(tmp_path, *ALL_IN_ONE, option)
    assert node.spawn().wait(60) == 1
    assert node.read_output().splitlines()[-1] == ("Error: Unable to start HTTP server. See debug log for details.")
    assert option[1:8] in node.debug_log()
