"""The `clarion` command: what it prints and with which status it ends, and what importing it costs."""

import subprocess
import sys
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
