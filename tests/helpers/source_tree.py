"""The project's own files, for tests about the project itself.

Owns: which files are ours. Never: judging them.
"""

from pathlib import Path

from helpers.shared import PROJECT_ROOT

PACKAGE_FOLDERS = ("node", "api", "plugins", "notifiers")
PYTHON_FOLDERS = (*PACKAGE_FOLDERS, "tests", "tools", "examples")


def python_files(*folders: str) -> list[Path]:
    """Return the Python files below `folders` (default: all of ours), relative to the project's root."""
    files = []
    for folder in folders or PYTHON_FOLDERS:
        for path in sorted((PROJECT_ROOT / folder).rglob("*.py")):
            relative = path.relative_to(PROJECT_ROOT)
            if not {"__pycache__", "build", "dist"} & set(relative.parts):
                files.append(relative)
    return files


def text_of(relative: Path) -> str:
    """Return a file's text."""
    return (PROJECT_ROOT / relative).read_text()
