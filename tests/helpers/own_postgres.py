"""A PostgreSQL server of the test's own, which it may stop and start as it likes.

Owns: a cluster in a temporary folder, run by the installed binaries. Never: the machine's server.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.node import free_port


class OwnPostgres:
    """The cluster. `url` names its database; `stop` and `start` are its whole life."""

    def __init__(self, binaries: Path, folder: Path, user: str | None) -> None:
        self._binaries = binaries
        self._folder = folder
        self._user = user
        self._port = free_port()
        self.url = f"postgresql+psycopg://postgres@127.0.0.1:{self._port}/postgres"

    def create(self) -> None:
        """Make the cluster."""
        self._run("initdb", "--pgdata", str(self._folder / "data"), "--username=postgres", "--auth=trust", "--no-sync")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = f"-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c shared_buffers=16MB -p {self._port}"
        log = str(self._folder / "log")
        self._run("pg_ctl", "start", "--wait", "--silent", "-D", str(self._folder / "data"), "-l", log, "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `fast` tells the clients, `immediate` is a crash."""
        self._run("pg_ctl", "stop", "--wait", "--silent", "-D", str(self._folder / "data"), "-m", mode)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._binaries / program), *arguments],
            user=self._user,
            cwd="/",
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )


def _binaries() -> Path:
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    for place in [*places, *([Path(on_path).parent] if on_path else [])]:
        if (place / "initdb").exists() and (place / "pg_ctl").exists():
            return place
    pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    """A running server, gone afterwards. Skips where there are no binaries."""
    pytest.importorskip("psycopg")
    binaries = _binaries()
    # The server refuses to run as root, and its user must reach the folder.
    user = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="clarion-pg-"))
    if user is not None:
        try:
            shutil.chown(folder, user)
        except LookupError:
            pytest.skip("root can't run PostgreSQL, and there is no user postgres")
    server = OwnPostgres(binaries, folder, user)
    try:
        server.create()
        server.start()
        yield server
    finally:
        subprocess.run(
            [str(binaries / "pg_ctl"), "stop", "--silent", "-D", str(folder / "data"), "-m", "immediate"],
            user=user, cwd="/", check=False, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)
