"""Conversations with Bitcoin Core, recorded and played against a fresh node: the answers are the same."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.shared import PROJECT_ROOT, shared_path

ANSWER = re.compile(r"^(.+?) +(\d+)/(\d+)$", re.MULTILINE)
NEEDS_AN_INDEX = {
    "getblockfilter",
    "getindexinfo",
    "getrawtransaction",
    "gettxoutproof",
    "gettxoutsetinfo",
    "gettxspendingprevout",
    "rest blockfilter",
    "rest blockfilterheaders",
    "rest tx",
}
"""Some or all answers to these come from indexes that the recorded node had."""


@pytest.fixture(scope="module")
def counts() -> dict[str, tuple[int, int]]:
    """Play the tape and return (right, total) by kind of request."""
    shared_path("tapes", "regtest-a.jsonl.gz")
    command = [sys.executable, str(PROJECT_ROOT / "tools" / "compat.py"), "--show", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False, cwd=Path.cwd())
    found = {name: (int(right), int(total)) for name, right, total in ANSWER.findall(done.stdout)}
    assert found, done.stdout + done.stderr
    return found


@pytest.mark.slow
def test_answers_and_messages_are_the_reference_s(counts: dict[str, tuple[int, int]], record_count: object) -> None:
    compared = {kind: count for kind, count in counts.items() if kind not in NEEDS_AN_INDEX}
    right = sum(count[0] for count in compared.values())
    total = sum(count[1] for count in compared.values())
    record_count("tape regtest-a, without indexes", right, total)  # type: ignore[operator]
    assert {kind: count for kind, count in compared.items() if count[0] != count[1]} == {}
    assert total > 2500


@pytest.mark.slow
def test_what_needs_an_index_is_as_right_as_it_can_be(counts: dict[str, tuple[int, int]]) -> None:
    assert counts["getrawtransaction"][0] >= 73
    assert counts["gettxoutproof"][0] >= 142
    assert counts["gettxspendingprevout"][0] >= 41
    assert counts["rest tx"][0] >= 117
