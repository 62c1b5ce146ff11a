"""For authors of plugins: a pytest fixture that starts regtest nodes with a plugin in them.

Owns: starting, asking, mining, stopping. Never: imported by the node. In a plugin's `conftest.py`:

    pytest_plugins = ["clarion.plugins.testing"]

and in a test:

    def test_blocks_are_counted(clarion_node):
        node = clarion_node("-plugin=my_plugin")
        node.mine(3)
        assert node.rpc("getcount") == 3
"""

import base64
import contextlib
import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

START_TIMEOUT_S = 60.0
_POLL_S = 0.05


class NodeRefused(Exception):
    """An RPC error: `code` and the node's message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class RegtestNode:
    """A node of its own in a folder, as a process, with whatever plugins its options name."""

    def __init__(self, folder: Path, *options: str) -> None:
        """Start it and wait until it answers. Raises AssertionError with its output if it does not."""
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        folder.mkdir(parents=True, exist_ok=True)
        fixed = ("-regtest", f"-datadir={folder}", f"-rpcport={self.port}", "-listen=0", "-connect=0", "-par=1")
        self._output = folder / "output.txt"
        with self._output.open("ab") as sink:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "clarion.node.cli", *fixed, *options],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
        self._wait_ready()

    def rpc(self, method: str, *params: Any) -> Any:
        """Call an RPC method and return its result. Raises NodeRefused."""
        body = json.dumps({"id": 1, "method": method, "params": list(params)})
        answer = json.loads(self.http("POST", "/", body)[1])
        if answer["error"] is not None:
            raise NodeRefused(answer["error"]["code"], answer["error"]["message"])
        return answer["result"]

    def http(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        """Ask with the node's password and return (status, body)."""
        cookie = (self.folder / "regtest" / ".cookie").read_bytes()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_TIMEOUT_S)
        try:
            headers = {"Authorization": "Basic " + base64.b64encode(cookie).decode()}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def mine(self, count: int = 1) -> list[str]:
        """Mine blocks that anybody may spend and return their hashes, once everybody who is awaited has been told."""
        hashes: list[str] = self.rpc("generatetodescriptor", count, "raw(51)")
        self.rpc("syncwithvalidationinterfacequeue")
        return hashes

    def log(self) -> str:
        """Return the text of the node's log, where errors of plugins stand."""
        return (self.folder / "regtest" / "debug.log").read_text(errors="replace")

    @staticmethod
    def wait_until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
        """Return once the condition holds: observers hear of a block a moment after it is there."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, f"it did not happen within {timeout_s} s"
            time.sleep(_POLL_S)

    def stop(self) -> int:
        """Stop the node, if it runs, and return its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(START_TIMEOUT_S)

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the node ended at its start:\n{self._output.read_text()}")
            with contextlib.suppress(OSError, http.client.HTTPException, NodeRefused, ValueError):
                self.rpc("getblockcount")
                return
            time.sleep(_POLL_S)
        self.process.kill()
        raise AssertionError(f"the node did not answer:\n{self._output.read_text()}")


@pytest.fixture
def clarion_node(tmp_path: Path) -> Iterator[Callable[..., RegtestNode]]:
    """Return a function that starts a node with options; all are stopped when the test ends."""
    started: list[RegtestNode] = []

    def start(*options: str) -> RegtestNode:
        started.append(RegtestNode(tmp_path / f"node{len(started)}", *options))
        return started[-1]

    yield start
    for node in started:
        node.stop()
