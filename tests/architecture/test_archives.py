"""Wheel and sdist carry the same files as the source tree: links and data files are easily lost on the way."""

import subprocess
import sys
from pathlib import Path

import compare_archives
import pytest

from helpers.shared import PROJECT_ROOT


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both archives, the wheel from the sdist, and return their folder."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(PROJECT_ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_archives_hold_the_same_files(dist: Path) -> None:
    assert compare_archives.differences(dist, PROJECT_ROOT) == []


def test_wheel_has_migrations_and_type_marker(dist: Path) -> None:
    files = compare_archives.wheel_files(next(dist.glob("*.whl")))
    assert "py.typed" in files
    assert any(name.startswith("node/storage/migrations/") for name in files)
