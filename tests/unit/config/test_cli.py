"""The `clarion` command: what it prints and with which status it ends, and what importing it costs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clarion.node.cli import main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-version"]) == 0
    assert capsys.readouterr().out.startswith("Clarion version ")


@pytest.mark.parametrize("argument", ["-help", "--help", "-h", "-?", "-help-debug"])
def test_help(capsys: pytest.CaptureFixture[str], argument: str) -> None:
    assert main([argument]) == 0
    assert "Usage:  clarion [options]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-foo"], "Error: Error parsing command line arguments: Invalid parameter -foo"),
        (["nonsense"], "Error: Command line contains unexpected token 'nonsense'"),
        (["import"], "Error: clarion import needs at least one file"),
        (["import", "/absent.dat"], "Error: /absent.dat: no such file"),
        (["-datadir=/absent"], 'Error: Specified data directory "/absent" does not exist.'),
    ],
    ids=["option", "token", "no-file", "absent-file", "datadir"],
)
def test_errors_are_one_line_and_status_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, argv: list[str], message: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(argv) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1


def test_import_is_light() -> None:
    code = (
        "import sys, clarion.node.cli; "
        "print([name for name in ('sqlalchemy', 'fastapi', 'zmq', 'coincurve', 'rich', 'asyncio') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_daemonwait_tells_whether_the_node_started(tmp_path: Path) -> None:
    conf = [f"-datadir={tmp_path}", "-regtest", "-daemonwait", "-server=0", "-par=1", "-eventsprocess=0"]
    command = [sys.executable, "-m", "clarion.node.cli", *conf]
    result = subprocess.run(
        [*command, "-database=sqlite:////proc/absent/x"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "Error during initialization" in result.stderr
    assert "absent" in (tmp_path / "regtest" / "debug.log").read_text()
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "Clarion starting\n")
    os.kill(int((tmp_path / "regtest" / "clarion.pid").read_text()), signal.SIGTERM)
    assert wait_for_text(tmp_path / "regtest" / "debug.log", "Shutdown: done")


def wait_for_text(path: Path, text: str) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if text in path.read_text():
            return True
        time.sleep(0.05)
    return False
