"""Fixtures of the whole suite: vectors that may be absent, and counts shown at the end of a run."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers import shared as _shared
from helpers.counts import RecordCount, count_lines, make_recorder


def pytest_configure() -> None:
    """Prepare what tests start: no node takes the network's own port, all hear Ctrl-C.

    The latter also where the tests run in a shell's background.
    """
    os.environ.setdefault("CLARION_LISTEN", "0")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def shared_path() -> Callable[..., Path]:
    """Return `shared_path(*parts)`: a path below ../shared, or a skipped test where it is absent."""
    return _shared.shared_path


@pytest.fixture
def record_count(request: pytest.FixtureRequest) -> RecordCount:
    """Return `record_count(name, passed, total)`; the line is shown when the run ends."""
    return make_recorder(request.node)


@pytest.fixture(autouse=True)
def close_chain_nodes() -> Iterator[None]:
    """Close the chain nodes that the test opened and left open: newer Pythons warn of connections that nobody closed."""
    before = set(_open_chain_nodes())
    yield
    for node in _open_chain_nodes() - before:
        node.close()


def _open_chain_nodes() -> set[Any]:
    # Only where a test has imported it: a run of pure tests need not load the whole node.
    module = sys.modules.get("helpers.chain_node")
    return set(module.OPEN) if module else set()


def pytest_sessionfinish() -> None:
    """Drop the schemas that nodes under test had on a server."""
    module = sys.modules.get("helpers.node_database")
    if module is not None:
        module.drop_schemas()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the counts of vectors, from all workers."""
    lines = count_lines(report for reports in terminalreporter.stats.values() for report in reports)
    if lines:
        terminalreporter.section("counts")
        for line in lines:
            terminalreporter.write_line(line)
