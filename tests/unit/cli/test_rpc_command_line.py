"""clarion-cli: conversion of arguments, printed results, errors and statuses, against a server that says what we like."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from clarion.node import rpc_cli
from clarion.node.rpc_cli import pretty
from clarion.node.rpc_conversion import convert_named, convert_positional


class Server(HTTPServer):
    """Remembers the last request; answers with `status` and `reply`."""

    status = 200
    reply: bytes = b'{"result":null,"error":null,"id":"1"}'
    request_body: Any = None
    authorization = ""
    path = ""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.request_body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.authorization = self.headers["Authorization"]
        self.server.path = self.path
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.reply)))
        self.end_headers()
        self.wfile.write(self.server.reply)

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a running server."""
    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def run(server: Server, folder: Path, *arguments: str) -> int:
    port = server.server_address[1]
    return rpc_cli.main([f"-datadir={folder}", "-regtest", f"-rpcport={port}", "-rpcpassword=p", *arguments])


@pytest.mark.parametrize(
    ("method", "texts", "params"),
    [
        ("getblock", ["00", "2"], ["00", 2]),
        ("getblockhash", ["5"], [5]),
        ("generatetoaddress", ["1", "12"], [1, "12"]),
        ("scantxoutset", ["start", '["raw(51)"]'], ["start", ["raw(51)"]]),
        ("nosuch", ["1", "x"], ["1", "x"]),
    ],
)
def test_positional(method: str, texts: list[str], params: list[Any]) -> None:
    assert convert_positional(method, texts) == params


@pytest.mark.parametrize(
    ("method", "texts", "params"),
    [
        ("getblock", ["blockhash=00", "verbosity=1"], {"blockhash": "00", "verbosity": 1}),
        ("echojson", ["1", "2", "arg3=3"], {"arg3": 3, "args": [1, 2]}),
        ("generatetodescriptor", ["1", "raw(51)"], {"args": [1, "raw(51)"]}),
        ("getblockhash", ["height=1", "height=2"], {"height": 2}),
        ("help", ["a=b"], {"args": ["a=b"]}),
        ("echojson", ['["="]'], {"args": [["="]]}),
        ("nosuch", ["a=1"], {"a": "1"}),
    ],
)
def test_named(method: str, texts: list[str], params: dict[str, Any]) -> None:
    assert convert_named(method, texts) == list(params.items())


def test_argument_named_twice_is_left_to_the_server() -> None:
    assert convert_named("echo", ["args=[1]", "2"]) == [("args", "[1]"), ("args", ["2"])]


def test_result_is_printed_as_it_came(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server.reply = '{"result":{"amount":0.00000000,"text":"ä","list":[],"n":{"a":true}},"error":null,"id":"1"}'.encode()
    assert run(server, tmp_path, "getmempoolinfo") == 0
    expected = '{\n  "amount": 0.00000000,\n  "text": "ä",\n  "list": [\n  ],\n  "n": {\n    "a": true\n  }\n}\n'
    assert capsys.readouterr().out == expected
    assert server.request_body == {"method": "getmempoolinfo", "params": [], "id": "1", "jsonrpc": "2.0"}


@pytest.mark.parametrize(
    ("result", "shown"), [('"text"', "text\n"), ("null", ""), ("5", "5\n"), ("false", "false\n"), ("[]", "[\n]\n")]
)
def test_plain_results(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], result: str, shown: str
) -> None:
    server.reply = f'{{"result":{result},"error":null,"id":"1"}}'.encode()
    assert run(server, tmp_path, "anything") == 0
    assert capsys.readouterr().out == shown


def test_error_answer(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server.reply = b'{"jsonrpc":"2.0","error":{"code":-8,"message":"Block height out of range"},"id":"1"}'
    assert run(server, tmp_path, "getblockhash", "9") == 8
    assert capsys.readouterr().err == "error code: -8\nerror message:\nBlock height out of range\n"


@pytest.mark.parametrize(
    ("status", "reply", "message"),
    [
        (401, b"", "error: Authorization failed: Incorrect rpcuser or rpcpassword were specified."),
        (503, b"Work queue depth exceeded", "error: Server response: Work queue depth exceeded"),
        (403, b"", "error: server returned HTTP error 403"),
        (200, b"", "error: no response from server"),
        (200, b"x", "error: couldn't parse reply from server"),
        (200, b"{}", "error: expected reply to have result, error and id properties"),
    ],
    ids=str,
)
def test_failures(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], status: int, reply: bytes, message: str
) -> None:
    server.status, server.reply = status, reply
    assert run(server, tmp_path, "getblockcount") == 1
    assert capsys.readouterr().err.startswith(message)


def test_cookie_is_used_without_password(server: Server, tmp_path: Path) -> None:
    (tmp_path / "regtest").mkdir()
    (tmp_path / "regtest" / ".cookie").write_text("__cookie__:secret")
    assert run(server, tmp_path, "-rpcpassword=", "-rpcwallet=a b", "getblockcount") == 0
    assert server.authorization == "Basic X19jb29raWVfXzpzZWNyZXQ="
    assert server.path == "/wallet/a%20b"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["getblockhash", "x"], "error: Error parsing JSON: x\n"),
        ([], "error: too few parameters (need at least command)\n"),
        (["-rpcconnect=h:0", "uptime"], "error: Invalid port provided in -rpcconnect: h:0\n"),
        (["-nosuch"], "Error: Error parsing command line arguments: Invalid parameter -nosuch: unknown option"),
    ],
)
def test_own_errors(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(server, tmp_path, *arguments) == 1
    assert capsys.readouterr().err.startswith(message)


def test_no_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rpc_cli.main([f"-datadir={tmp_path}", "-rpcport=1", "-rpcpassword=p", "uptime"]) == 1
    assert capsys.readouterr().err.startswith("error: Could not connect to the server 127.0.0.1:1")


def test_waits_while_the_server_warms_up(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.reply = b'{"jsonrpc":"2.0","error":{"code":-28,"message":"Loading"},"id":"1"}'

    def ready(seconds: float) -> None:
        server.reply = b'{"result":1,"id":"1"}'

    monkeypatch.setattr("time.sleep", ready)
    assert run(server, tmp_path, "-rpcwait", "getblockcount") == 0
    assert capsys.readouterr().out == "1\n"


def test_standard_input(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("secret\nab\n1\n"))
    assert run(server, tmp_path, "-rpcuser=u", "-stdinrpcpass", "-stdin", "getblock") == 0
    assert server.request_body["params"] == ["ab", 1]
    assert server.authorization == "Basic dTpzZWNyZXQ="


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert rpc_cli.main(["-help"]) == 0
    assert "-rpcwait" in capsys.readouterr().out
    assert rpc_cli.main(["-version"]) == 0
    assert rpc_cli.main([]) == 1


def test_pretty_nests() -> None:
    assert pretty([{"a": {}}]) == '[\n  {\n    "a": {\n    }\n  }\n]'
