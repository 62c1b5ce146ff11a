"""Conversations with Bitcoin Core, recorded and played against a fresh node: the answers are the same."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.shared import PROJECT_ROOT, shared_path

ANSWER = re.compile(r"^(.+?) +(\d+)/(\d+)$", re.MULTILINE)
RIGHT = (
    "getbestblockhash",
    "getblock",
    "getblockchaininfo",
    "getchaintips",
    "getdifficulty",
    "gettxout",
    "scantxoutset",
    "setmocktime",
    "submitblock",
    "submitheader",
    "validateaddress",
    "createrawtransaction",
    "decoderawtransaction",
    "decodescript",
    "invalidateblock",
    "reconsiderblock",
    "getblockhash",
    "getblockheader",
    "rest headers",
    "rest blockhashbyheight",
    "rest block",
    "rest spenttxouts",
)


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
@pytest.mark.parametrize("kind", RIGHT)
def test_answers_are_the_reference_s(counts: dict[str, tuple[int, int]], kind: str, record_count: object) -> None:
    right, total = counts[kind]
    record_count(f"tape regtest-a, {kind}", right, total)  # type: ignore[operator]
    assert right == total
