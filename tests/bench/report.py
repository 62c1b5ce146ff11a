"""Tables of measurements, as text for a terminal and for docs/benchmarks.md.

Owns: the form of a table, and the facts about the machine that numbers are worth nothing without. Never: measuring.
"""

import os
import platform
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("coincurve", "SQLAlchemy", "psycopg", "msgspec", "pyzmq")


class Report:
    """Sections in the order in which they were measured; each is printed as soon as it is there."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def section(self, title: str, text: str = "") -> None:
        """Begin a section."""
        self._add(f"## {title}\n")
        if text:
            self.text(text)

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._add(f"{text}\n")

    def code(self, text: str) -> None:
        """Add output as it was printed."""
        self._add(f"```\n{text.rstrip()}\n```\n")

    def table(self, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Add a table; the first column holds names, the others numbers."""
        lines = [_line(head), _line(["---", *["---:"] * (len(head) - 1)])]
        self._add("\n".join([*lines, *(_line([cell(value) for value in row]) for row in rows)]) + "\n")

    def _add(self, text: str) -> None:
        print(text, flush=True)
        self._parts.append(text)

    def __str__(self) -> str:
        return "\n".join(self._parts)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def cell(value: object) -> str:
    """Return a value as a cell: numbers with as many digits as they are worth."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def machine() -> str:
    """Return one line about processor, memory and system."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        name = names[0] if names else name
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{name}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}"


def versions() -> str:
    """Return one line about the versions of what is measured and of what it runs on."""
    from clarion import __version__

    found = [
        f"Clarion {__version__}{_revision()}",
        f"Python {sys.version.split()[0]}",
        f"SQLite {sqlite3.sqlite_version}",
    ]
    for package in PACKAGES:
        found.append(f"{package} {version(package)}")
    return ", ".join(found)


def _revision() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f" ({done.stdout.strip()})" if done.returncode == 0 else ""


def load_average() -> str:
    """Return the machine's load average: what else ran meanwhile."""
    return " ".join(f"{number:.1f}" for number in os.getloadavg())


def today() -> str:
    """Return the date."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
