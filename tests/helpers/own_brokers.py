"""Brokers of a test's own, which it may kill as it likes: Redis, NATS and Mosquitto from the installed programs.

Owns: their processes, ports, folders, and the settings by which what they have confirmed outlives a kill. Never: the
machine's brokers.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from helpers.node import free_port

_START_S = 30.0


class OwnBroker:
    """One broker. `url` is for -notify; `start` returns when it takes connections; `kill` is SIGKILL."""

    scheme = ""
    program = ""

    def __init__(self, folder: Path) -> None:
        found = shutil.which(self.program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
        if found is None:
            pytest.skip(f"{self.program} is not installed")
        self._binary = found
        self.folder = folder / self.scheme
        self.folder.mkdir()
        self.port = free_port()
        self.url = f"{self.scheme}://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def arguments(self) -> Sequence[str]:
        """Return the program's arguments."""
        raise NotImplementedError

    def start(self) -> None:
        """Start it on its folder."""
        with (self.folder / "output").open("ab") as sink:
            self._process = subprocess.Popen(
                [self._binary, *self.arguments()], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
            )
        deadline = time.monotonic() + _START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                output = (self.folder / "output").read_text(errors="replace")
                assert self._process.poll() is None, output
                assert time.monotonic() < deadline, output
                time.sleep(0.02)

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class OwnRedis(OwnBroker):
    """appendonly yes, appendfsync always: an answer means that it is on the disk."""

    scheme = "redis"
    program = "redis-server"

    def arguments(self) -> Sequence[str]:
        """Return the settings."""
        settings = {"port": self.port, "bind": "127.0.0.1", "dir": self.folder, "save": "", "protected-mode": "no"}
        durable = {"appendonly": "yes", "appendfsync": "always"}
        return [word for name, value in (settings | durable).items() for word in (f"--{name}", str(value))]


class OwnNats(OwnBroker):
    """JetStream on disk."""

    scheme = "nats"
    program = "nats-server"

    def arguments(self) -> Sequence[str]:
        """Return the settings."""
        return ["-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.folder / "jetstream")]


class OwnMosquitto(OwnBroker):
    """persistence true, autosave_on_changes true: sessions and what waits for them are written at each change."""

    scheme = "mqtt"
    program = "mosquitto"

    def arguments(self) -> Sequence[str]:
        """Write the settings and return where they are."""
        path = self.folder / "mosquitto.conf"
        path.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
            f"persistence_location {self.folder}/\nautosave_on_changes true\nautosave_interval 1\n"
            "max_queued_messages 0\nuser root\n"
        )
        return ["-c", str(path)]
