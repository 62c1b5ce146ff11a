"""The import contracts of pyproject.toml are kept, and they still guard what they are meant to guard."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from helpers.shared import PROJECT_ROOT

LINTER = Path(sys.executable).parent / "lint-imports"


def test_contracts_are_kept() -> None:
    done = subprocess.run(
        [LINTER, "--no-logo", "--no-cache"], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def contracts() -> dict[str, dict[str, Any]]:
    settings = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())
    return {contract["name"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def test_nothing_is_exempt() -> None:
    assert not [name for name, contract in contracts().items() if "ignore_imports" in contract]


def test_pure_packages_reach_no_clock_and_no_io() -> None:
    pure = contracts()["The rules are pure"]
    assert set(pure["source_modules"]) == {f"clarion.node.{p}" for p in ("consensus", "script", "params", "primitives")}
    assert set(pure["forbidden_modules"]) >= {"asyncio", "sqlalchemy", "time", "random", "logging"}
    assert "allow_indirect_imports" not in pure
