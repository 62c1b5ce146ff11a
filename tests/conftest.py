"""Fixtures of the whole suite: vectors that may be absent, and counts shown at the end of a run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import shared as _shared
from helpers.counts import RecordCount, count_lines, make_recorder


@pytest.fixture
def shared_path() -> Callable[..., Path]:
    """Return `shared_path(*parts)`: a path below ../shared, or a skipped test where it is absent."""
    return _shared.shared_path


@pytest.fixture
def record_count(request: pytest.FixtureRequest) -> RecordCount:
    """Return `record_count(name, passed, total)`; the line is shown when the run ends."""
    return make_recorder(request.node)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the counts of vectors, from all workers."""
    lines = count_lines(report for reports in terminalreporter.stats.values() for report in reports)
    if lines:
        terminalreporter.section("counts")
        for line in lines:
            terminalreporter.write_line(line)
