"""A real regtest node as a subprocess, driven over its sockets.

Owns: free ports, a data directory, waiting until it is ready, RPC, REST, ZMQ, stopping and killing. Never: asserting.
"""

import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import zmq

from helpers.node_database import with_database

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 60
TOPICS = ("hashblock", "hashtx", "rawblock", "rawtx", "sequence")


class RpcFailure(Exception):
    """An error answer: `code` and `message` as the node gave them, `status` the HTTP status."""

    def __init__(self, code: int, message: str, status: int) -> None:
        super().__init__(f"{code}: {message} (HTTP {status})")
        self.code = code
        self.message = message
        self.status = status


_given: set[int] = set()


def free_port() -> int:
    """Return a TCP port that is free on the loopback interface at this moment, each only once."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port not in _given:
            _given.add(port)
            return port


def program() -> list[str]:
    """Return the command that starts `clarion` in the environment that runs the tests."""
    return [str(Path(sys.executable).parent / "clarion")]


def command_line(*arguments: str) -> list[str]:
    """Return program and arguments, with the database that the tests use."""
    return [*program(), *with_database(arguments)]


def run_program(*arguments: str, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
    """Run `clarion` to its end and return status and output."""
    return subprocess.run(
        command_line(*arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


class Node:
    """One node. `start` it, use it, `stop` it; `with Node(...) as node` does both."""

    def __init__(self, datadir: Path, *options: str, chain: str = "regtest", topics: Sequence[str] = ()) -> None:
        """`options` are command-line options; `topics` are published on one endpoint, `zmq_address`."""
        self.datadir = datadir
        self.chain = chain
        self.host = "127.0.0.1"
        """Where its RPC is reached."""
        self.rpc_port = free_port()
        self.zmq_address = f"tcp://127.0.0.1:{free_port()}"
        self.process: subprocess.Popen[bytes] | None = None
        self.program = program()
        self.output = datadir / "output.txt"
        self.cookie_name = ".cookie"
        self._options = [*options, *(f"-zmqpub{topic}={self.zmq_address}" for topic in topics)]

    @property
    def chain_dir(self) -> Path:
        """The folder of the chain's files."""
        return self.datadir if self.chain == "main" else self.datadir / self.chain

    def __enter__(self) -> "Node":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.stop()

    def spawn(self, *more: str) -> subprocess.Popen[bytes]:
        """Start the process and return at once."""
        self.datadir.mkdir(parents=True, exist_ok=True)
        # After a kill, children of the old process may still answer for a moment: only the new cookie leads to the new.
        (self.chain_dir / self.cookie_name).unlink(missing_ok=True)
        arguments = [
            f"-datadir={self.datadir}",
            f"-chain={self.chain}",
            "-server=1",
            "-listen=0",
            "-listenonion=0",
            *self._isolation(),
            f"-rpcport={self.rpc_port}",
            "-rest=1",
            *self._options,
            *more,
        ]
        with self.output.open("ab") as sink:
            # A session of its own: Ctrl-C for the tests must not reach the node.
            command = [*self.program, *self._complete(arguments)]
            self.process = subprocess.Popen(
                command, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL, start_new_session=True
            )
        return self.process

    def _complete(self, arguments: list[str]) -> list[str]:
        """Return the arguments with what all nodes under test are given."""
        return with_database(arguments)

    def _isolation(self) -> list[str]:
        """Return what keeps the node from strangers, unless the test says whom it connects to."""
        return [] if any(option.startswith(("-connect", "-noconnect")) for option in self._options) else ["-connect=0"]

    def start(self, *more: str) -> None:
        """Start the node and wait until it answers. Raises AssertionError with its output if it does not."""
        self.spawn(*more)
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until `getblockcount` has an answer other than -28 (warming up)."""
        assert self.process is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the node ended with status {self.process.returncode}:\n{self.read_output()}")
            with contextlib.suppress(OSError, RpcFailure, http.client.HTTPException):
                self.rpc("getblockcount")
                return
            time.sleep(0.05)
        self.kill()
        raise AssertionError(f"the node was not ready within {START_TIMEOUT_S} s:\n{self.read_output()}")

    def read_output(self) -> str:
        """Return what the process has printed."""
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def wait(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Wait until the process has ended and return its status. Kills it and raises AssertionError if it hangs."""
        assert self.process is not None
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the node did not end within {timeout_s} s:\n{self.read_output()}") from None

    def stop(self) -> int:
        """Stop the node with the `stop` call and return its status."""
        self.rpc("stop")
        return self.wait()

    def terminate(self, signum: int = signal.SIGTERM) -> int:
        """Send a signal that ends the node cleanly and return its status."""
        assert self.process is not None
        self.process.send_signal(signum)
        return self.wait()

    def kill(self) -> None:
        """End the node as a power failure would (SIGKILL); its children must notice by themselves."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def cookie(self) -> str:
        """Return the cookie, `user:password`. Raises OSError while there is none."""
        return (self.chain_dir / self.cookie_name).read_text()

    def authorization(self) -> str:
        """Return the Authorization header of the cookie. Raises OSError while there is none."""
        return "Basic " + base64.b64encode(self.cookie().encode()).decode()

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Send one HTTP request and return (status, body)."""
        connection = http.client.HTTPConnection(self.host, self.rpc_port, timeout=120)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def rpc(self, method: str, *params: object) -> Any:
        """Call a method and return its result; numbers with a fraction are Decimal. Raises RpcFailure."""
        call = {"jsonrpc": "1.0", "id": 1, "method": method, "params": list(params)}
        headers = {"Authorization": self.authorization(), "Content-Type": "application/json"}
        status, body = self.request("POST", "/", json.dumps(call).encode(), headers)
        try:
            answer = json.loads(body, parse_float=Decimal)
        except ValueError:
            raise RpcFailure(0, body.decode(errors="replace"), status) from None
        if answer["error"] is not None:
            raise RpcFailure(answer["error"]["code"], answer["error"]["message"], status)
        return answer["result"]

    def rest(self, path: str) -> tuple[int, bytes]:
        """Return (status, body) of a GET below /rest/."""
        return self.request("GET", f"/rest/{path}")

    def debug_log(self) -> str:
        """Return the text of debug.log."""
        return (self.chain_dir / "debug.log").read_text(errors="replace")

    @contextlib.contextmanager
    def subscriber(self, *topics: str) -> Iterator["Subscriber"]:
        """Subscribe to `topics` (all five if none is named) on the node's endpoint until the block ends."""
        subscriber = Subscriber(self.zmq_address, topics or TOPICS)
        try:
            subscriber.wait_connected()
            yield subscriber
        finally:
            subscriber.close()


class Subscriber:
    """A SUB socket with a time-out."""

    def __init__(self, address: str, topics: Sequence[str]) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.SUB)
        self._socket.setsockopt(zmq.RCVHWM, 0)
        self._socket.setsockopt(zmq.LINGER, 0)
        for topic in topics:
            self._socket.setsockopt(zmq.SUBSCRIBE, topic.encode())
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        self._socket.connect(address)

    def wait_connected(self, timeout_s: float = 20) -> None:
        """Wait until a publisher has answered; it knows the subscriptions a moment later."""
        if not self._monitor.poll(int(timeout_s * 1000)):
            raise AssertionError("nobody publishes there")
        time.sleep(0.2)

    def receive(self, timeout_s: float = 10) -> tuple[str, bytes, int]:
        """Return (topic, body, counter) of the next message. Raises AssertionError if none comes in time."""
        if not self._socket.poll(int(timeout_s * 1000)):
            raise AssertionError(f"no message within {timeout_s} s")
        topic, body, counter = self._socket.recv_multipart()
        return topic.decode(), body, int.from_bytes(counter, "little")

    def drain(self, silence_s: float = 0.5) -> list[tuple[str, bytes, int]]:
        """Return all messages until none has come for `silence_s` seconds."""
        messages = []
        while self._socket.poll(int(silence_s * 1000)):
            messages.append(self.receive())
        return messages

    def close(self) -> None:
        """Close the socket."""
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close()
        self._context.term()


def process_ids_below(pid: int) -> list[int]:
    """Return the process ids of all descendants of `pid` (Linux: /proc)."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                stat = Path("/proc", entry, "stat").read_text()
                parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    below = [pid]
    for ancestor in below:
        below.extend(child for child, parent in parents.items() if parent == ancestor)
    return below[1:]


def process_ids_of_session(session: int) -> list[int]:
    """Return the process ids of all living members of a session, which children keep when their parent is gone."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                state, _, _, own_session = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[:4]
                if int(own_session) == session and state != "Z":
                    found.append(int(entry))
    return found


def events_process_of(node: Node) -> int | None:
    """Return the id of the process that holds the node's ZMQ port, None while there is none (Linux: /proc)."""
    port = int(node.zmq_address.rpartition(":")[2])
    inodes = {
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
    }
    assert node.process is not None
    for pid in process_ids_below(node.process.pid):
        with contextlib.suppress(OSError):
            for link in Path(f"/proc/{pid}/fd").glob("*"):
                if any(os.readlink(link) == f"socket:[{inode}]" for inode in inodes):
                    return pid
    return None
