"""Requests from many clients at once, counted by wrk.

Owns: running it and reading what it counted. Never: which requests, which node.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SCRIPT = Path(__file__).with_name("load_client.lua")
TIMEOUT_S = 60


class Request(NamedTuple):
    """One request; without `authorization` it has no such header."""

    method: str
    path: str
    authorization: str = ""
    body: str = ""


class Load(NamedTuple):
    """Answers a second, and the median and 99th percentile of the milliseconds that an answer took."""

    per_second: float
    median_ms: float
    p99_ms: float


def have_wrk() -> bool:
    """Whether the load generator is installed."""
    return shutil.which("wrk") is not None


def run_load(port: int, requests: Sequence[Request], clients: int, seconds: int) -> Load:
    """Have `clients` keep-alive connections send the requests in rotation. Raises AssertionError for a bad answer."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines("\t".join(request) + "\n" for request in requests)
        file.flush()
        command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", f"--timeout={TIMEOUT_S}s", "-s", str(SCRIPT)]
        command += [f"http://127.0.0.1:{port}", "--", file.name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT"))
    answers, duration, median, p99, bad = (float(word) for word in line.split()[1:])
    assert not bad, f"{int(bad)} bad answers to {requests[0]}"
    return Load(answers / duration, median / 1000, p99 / 1000)
