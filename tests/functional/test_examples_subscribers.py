"""The example subscribers and the example plugin beside a real node."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.event_source import wait_until
from helpers.node import Node
from helpers.shared import PROJECT_ROOT

EXAMPLES = PROJECT_ROOT / "examples"
MINE = "raw(51)"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """Return a running node that publishes all topics."""
    with Node(tmp_path / "node", "-par=1", topics=("hashblock", "hashtx", "rawblock", "rawtx", "sequence")) as running:
        yield running


@contextmanager
def _example(output: Path, *command: str) -> Iterator[None]:
    with (
        output.open("w") as sink,
        subprocess.Popen([sys.executable, *command], stdout=sink, stderr=sink) as process,
    ):
        try:
            yield
        finally:
            process.terminate()


def _mine_until(node: Node, output: Path, pattern: str) -> None:
    """Mine until the example has printed what is expected: it needs a moment to connect."""

    def seen() -> bool:
        if re.search(pattern, output.read_text(), re.MULTILINE):
            return True
        node.rpc("generatetodescriptor", 1, MINE)
        return False

    wait_until(seen, 30)


def test_zmq_subscriber_prints_every_topic(node: Node, tmp_path: Path) -> None:
    output = tmp_path / "printed"
    with _example(output, str(EXAMPLES / "zmq_subscriber.py"), node.zmq_address):
        _mine_until(node, output, "rawblock")
        left = node.rpc("getbestblockhash")
        node.rpc("invalidateblock", left)
        wait_until(lambda: "block disconnected" in output.read_text())
    printed = output.read_text()
    assert f"block disconnected {left}" in printed
    for topic in ("hashblock", "hashtx", "rawblock", "rawtx", "sequence"):
        assert re.search(rf"^\d\d:\d\d:\d\d {topic} +#\d+ ", printed, re.MULTILINE), topic
    assert "lost" not in printed


def test_asyncio_subscriber_follows_a_reorganisation(node: Node, tmp_path: Path) -> None:
    output = tmp_path / "printed"
    with _example(output, str(EXAMPLES / "asyncio_subscriber.py"), node.zmq_address):
        _mine_until(node, output, r"^C ")
        left = node.rpc("getbestblockhash")
        node.rpc("invalidateblock", left)
        # Another script: the same block again would be the one that is marked invalid.
        node.rpc("generatetodescriptor", 1, "raw(52)")
        right = node.rpc("getbestblockhash")
        wait_until(lambda: f"C {right}" in output.read_text())
        assert re.search(rf"^D {left} .*\nC {right} ", output.read_text(), re.MULTILINE)
    assert "Traceback" not in output.read_text()


def test_example_plugin_writes_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(EXAMPLES / "plugin_print_blocks" / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in paths if path))
    options = ("-par=1", "-plugin=print_blocks:PrintBlocks", "-printblocks=blocks.txt")
    with Node(tmp_path / "node", *options) as node:
        (block_hash,) = node.rpc("generatetodescriptor", 1, MINE)
        written = tmp_path / "node" / "blocks.txt"
        wait_until(lambda: written.exists() and block_hash in written.read_text())
    assert f"+ 1 {block_hash} 1 transactions, 50.00000000 BTC" in written.read_text()
