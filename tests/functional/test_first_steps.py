"""What the README tells a newcomer to do: the demonstration, and the subscriber of ten lines."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.node import Node
from helpers.shared import PROJECT_ROOT

DEMO = [sys.executable, str(PROJECT_ROOT / "examples" / "demo.py")]
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
ADDRESS = "tcp://127.0.0.1:28332"


@contextmanager
def running(command: list[str], output: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command whose output goes to a file; end it if it is still there."""
    with output.open("wb") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink, env=os.environ | {"PYTHONUNBUFFERED": "1"})
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def wait_for(output: Path, pattern: str, timeout_s: float = 60) -> None:
    """Wait until the file matches the pattern."""
    deadline = time.monotonic() + timeout_s
    while not re.search(pattern, output.read_text(), re.DOTALL):
        assert time.monotonic() < deadline, output.read_text()
        time.sleep(0.05)


def test_demo_ends_by_itself(tmp_path: Path) -> None:
    output = tmp_path / "output"
    with running([*DEMO, "--seconds", "12"], output) as process:
        assert process.wait(90) == 0
    text = output.read_text()
    assert re.search(r"rawtx .*sequence .*block connected .*hashblock ", text, re.DOTALL), text
    assert "Stopping the node" in text


def test_ctrl_c_ends_the_demo_cleanly(tmp_path: Path) -> None:
    output = tmp_path / "output"
    with running(DEMO, output) as process:
        wait_for(output, "hashblock")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    text = output.read_text()
    folder = re.search(r"runs in (\S+);", text)
    assert folder is not None
    assert not Path(folder[1]).exists()
    assert "Traceback" not in text


def test_subscriber_of_the_readme(tmp_path: Path) -> None:
    code = CODE.findall((PROJECT_ROOT / "README.md").read_text())[0]
    assert len(code.splitlines()) <= 12
    output = tmp_path / "output"
    with Node(tmp_path / "node", "-par=1", topics=("hashblock", "rawtx")) as node:
        script = code.replace(ADDRESS, node.zmq_address)
        assert script != code
        with running([sys.executable, "-c", script], output):
            time.sleep(1)
            node.rpc("generatetodescriptor", 1, "raw(51)")
            wait_for(output, f"hashblock 0 {node.rpc('getbestblockhash')}")
    assert re.search(r"^rawtx \d+ \d+ bytes$", output.read_text(), re.MULTILINE)
