"""fee_estimates.dat of a real node: written hourly and at the end, not at all with -blocksonly."""

import time
from pathlib import Path

import pytest

from helpers.node import Node, RpcFailure

PATIENCE_S = 30


def test_estimates_are_stored(tmp_path: Path) -> None:
    with Node(tmp_path, "-debug=estimatefee") as node:
        path = node.chain_dir / "fee_estimates.dat"
        assert f"{path} is not found. Continue anyway." in node.debug_log()
        node.rpc("generatetodescriptor", 3, "raw(51)")
        node.rpc("mockscheduler", 3600)
        deadline = time.monotonic() + PATIENCE_S
        while f"Flushed fee estimates to {path}." not in node.debug_log() and time.monotonic() < deadline:
            time.sleep(0.05)
        stored = path.read_bytes()
        assert stored[4] == 3
        node.rpc("generatetodescriptor", 1, "raw(51)")
        node.stop()
        assert path.read_bytes()[4] == 4
        node.start()
        assert node.rpc("estimatesmartfee", 6)["errors"] == ["Insufficient data or no feerate found"]


def test_blocksonly_estimates_nothing(tmp_path: Path) -> None:
    with Node(tmp_path, "-blocksonly") as node:
        with pytest.raises(RpcFailure, match="Fee estimation disabled"):
            node.rpc("estimatesmartfee", 6)
        node.stop()
        assert not (node.chain_dir / "fee_estimates.dat").exists()
