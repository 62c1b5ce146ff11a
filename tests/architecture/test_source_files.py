"""What holds for every source file: its size, its docstring, and that nothing unfinished is left in it."""

import ast
import re
from pathlib import Path

import pytest

from helpers.source_tree import PACKAGE_FOLDERS, python_files, text_of

MAX_LINES = 400
MAY_BE_LONGER: frozenset[str] = frozenset()
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XXX)\b")


def ids(path: Path) -> str:
    return path.as_posix()


@pytest.mark.parametrize("path", python_files(), ids=ids)
def test_file_is_short(path: Path) -> None:
    lines = text_of(path).count("\n")
    assert lines <= MAX_LINES or path.as_posix() in MAY_BE_LONGER, f"{lines} lines"


@pytest.mark.parametrize("path", python_files(), ids=ids)
def test_module_says_what_it_is(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(text_of(path)))
    assert docstring, "no docstring"
    assert docstring.splitlines()[0].endswith((".", ":", "?")), "its first line is no sentence"


@pytest.mark.parametrize("path", python_files(*PACKAGE_FOLDERS), ids=ids)
def test_nothing_is_left_unfinished(path: Path) -> None:
    assert not UNFINISHED.search(text_of(path))
    bodies = [node for node in ast.walk(ast.parse(text_of(path))) if isinstance(node, ast.Raise)]
    assert not [node.lineno for node in bodies if "NotImplemented" in ast.dump(node)]


def test_errors_imports_nothing() -> None:
    tree = ast.parse(text_of(Path("node/errors.py")))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def silent_names(tree: ast.Module) -> list[str]:
    """Return the public names without a docstring. A decorator (a hook, an RPC method) documents by itself."""
    silent = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            decorated = bool(node.decorator_list) and not isinstance(node, ast.ClassDef)
            if not (node.name.startswith("_") or decorated or ast.get_docstring(node)):
                silent.append(node.name)
    return silent


@pytest.mark.parametrize("path", python_files(*PACKAGE_FOLDERS), ids=ids)
def test_public_names_are_documented(path: Path) -> None:
    assert not silent_names(ast.parse(text_of(path)))
