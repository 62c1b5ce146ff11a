"""Every hook is documented with a worked example or its event, tested, and really called."""

import re
from pathlib import Path

import pytest

from clarion.plugins import hookspecs
from clarion.plugins.hookspecs import PROJECT
from clarion.plugins.manager import OBSERVER_HOOKS
from helpers.shared import PROJECT_ROOT
from helpers.source_tree import python_files, text_of

HOOKS = sorted(name for name, value in vars(hookspecs).items() if hasattr(value, f"{PROJECT}_spec"))


@pytest.fixture(scope="module")
def headings() -> list[str]:
    """Return the headings of the plugins' page."""
    return re.findall(r"^### `(.+)`$", (PROJECT_ROOT / "docs" / "plugins.md").read_text(), re.MULTILINE)


def test_the_page_names_the_hooks_and_no_others(headings: list[str]) -> None:
    assert sorted(heading.partition("(")[0] for heading in headings) == HOOKS


@pytest.mark.parametrize("hook", HOOKS)
def test_documented_arguments_are_the_hooks(hook: str, headings: list[str]) -> None:
    code = getattr(hookspecs, hook).__code__
    assert f"{hook}({', '.join(code.co_varnames[: code.co_argcount])})" in headings


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_has_a_contract(hook: str) -> None:
    assert getattr(hookspecs, hook).__doc__


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_is_called_by_the_node(hook: str) -> None:
    files = python_files("plugins", "api", "node")
    callers = [path for path in files if path.name != "hookspecs.py" and path.parts[1] != "bundled"]
    assert hook in OBSERVER_HOOKS or any(f'"{hook}"' in text_of(path) for path in callers)


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_is_tested(hook: str) -> None:
    tests = [path for path in python_files("tests") if path != Path("tests/architecture/test_hooks_documented.py")]
    assert any(re.search(rf"\b{hook}\b", text_of(path)) for path in tests)
