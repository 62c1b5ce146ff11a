"""The example plugins: each passes its own tests, run as its README says, and offers its entry point."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from clarion.plugins.manager import Plugins
from helpers.shared import PROJECT_ROOT

PROJECTS = sorted(path.parent for path in (PROJECT_ROOT / "examples").glob("plugin_*/tests"))


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_its_own_tests_pass(project: Path, tmp_path: Path) -> None:
    settings = [f"--rootdir={project}", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'run'}"]
    paths = [str(project / "src"), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, *settings, str(project / "tests")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(path).resolve()) for path in paths)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_entry_point_is_a_plugin(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(project / "src")
    found = tomllib.loads((project / "pyproject.toml").read_text())["project"]["entry-points"]["clarion"]
    ((name, value),) = found.items()
    plugins = Plugins()
    plugins.add(name, EntryPoint(name, value, "clarion").load())
    assert plugins.names == [name]
