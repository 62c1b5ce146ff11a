"""ElectrumX as a subprocess that indexes a node's chain, and a client of the protocol that it serves.

Owns: its settings, its life, calls by line. Never: asserting what it answers.
"""

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from helpers.node import Node, free_port
from helpers.waiting import wait_for

POLL_MS = "50"


def electrumx_program() -> Path | None:
    """Return the server's program in the environment that runs the tests, None where it is not installed."""
    program = Path(sys.executable).parent / "electrumx_server"
    return program if program.exists() else None


class ElectrumX:
    """A server over `node`. Use it in a `with` statement."""

    def __init__(self, program: Path, node: Node, folder: Path) -> None:
        folder.mkdir()
        self._port = free_port()
        self._log = folder / "log.txt"
        environment = {
            **os.environ,
            "COIN": "Bitcoin",
            "NET": "regtest",
            "DB_ENGINE": "leveldb",
            "DB_DIRECTORY": str(folder),
            "DAEMON_URL": f"http://{node.cookie()}@127.0.0.1:{node.rpc_port}/",
            "SERVICES": f"tcp://127.0.0.1:{self._port}",
            "DAEMON_POLL_INTERVAL_BLOCKS": POLL_MS,
            "DAEMON_POLL_INTERVAL_MEMPOOL": POLL_MS,
            "PEER_DISCOVERY": "",
            "PEER_ANNOUNCE": "",
            "ALLOW_ROOT": "1",
            "REQUEST_SLEEP": "0",
            "COST_SOFT_LIMIT": "0",
            "COST_HARD_LIMIT": "0",
        }
        with self._log.open("wb") as sink:
            self._process = subprocess.Popen(
                [str(program)], env=environment, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
            )
        self._socket: socket.socket | None = None
        self._calls = 0

    def __enter__(self) -> "ElectrumX":
        try:
            # It opens its port when it has indexed the chain.
            wait_for(self._is_connected, 90)
        except AssertionError:
            self.__exit__()
            raise AssertionError(self.output()) from None
        assert self._socket is not None
        self._lines = self._socket.makefile("r")
        self.call("server.version", "clarion", "1.4")
        return self

    def _is_connected(self) -> bool:
        assert self._process.poll() is None, self.output()
        with suppress(OSError):
            self._socket = socket.create_connection(("127.0.0.1", self._port), 60)
        return self._socket is not None

    def output(self) -> str:
        """Return what the server has printed."""
        return self._log.read_text(errors="replace")

    def call(self, method: str, *params: object) -> Any:
        """Return the result of a call; notifications before it are left out. Raises AssertionError with its error."""
        assert self._socket is not None
        self._calls += 1
        self._socket.sendall(json.dumps({"id": self._calls, "method": method, "params": params}).encode() + b"\n")
        while True:
            answer = json.loads(self._lines.readline())
            if answer.get("id") == self._calls:
                assert "result" in answer, answer
                return answer["result"]

    def __exit__(self, *_: object) -> None:
        if self._socket is not None:
            self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
