"""Two nodes with one folder of block files: the second is refused before it touches anything, readers are not."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.storage.directory_lock import lock_directory
from helpers.node import Node, run_program

SCRIPT = "raw(51)#8lvh9jxk"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder for -blocksdir."""
    folder = tmp_path / "shared"
    folder.mkdir()
    return folder


@pytest.fixture
def running(tmp_path: Path, shared: Path) -> Iterator[Node]:
    """A node with blocks that writes to the shared folder."""
    with Node(tmp_path / "first", f"-blocksdir={shared}", "-par=1") as node:
        node.rpc("generatetodescriptor", 5, SCRIPT)
        yield node


def files_of(shared: Path) -> dict[str, bytes]:
    blocks = shared / "regtest" / "blocks"
    return {path.name: path.read_bytes() for path in blocks.iterdir()}


@pytest.mark.parametrize("command", [["-reindex"], [], ["import", "BLK"], ["db", "dump", "OUT"]], ids=" ".join)
def test_second_writer_is_refused(tmp_path: Path, shared: Path, running: Node, command: list[str]) -> None:
    before = files_of(shared)
    copy = tmp_path / "blk00000.dat"
    shutil.copy(shared / "regtest" / "blocks" / "blk00000.dat", copy)
    words = [{"BLK": str(copy), "OUT": str(tmp_path / "dump")}.get(word, word) for word in command]
    options = ["-regtest", f"-datadir={tmp_path / 'second'}", f"-blocksdir={shared}"]
    # `clarion db` wants a chain.
    shutil.copytree(running.chain_dir / "chainstate", tmp_path / "second" / "regtest" / "chainstate")
    done = run_program(*words, *options)
    blocks = shared / "regtest" / "blocks"
    assert done.returncode == 1
    assert f"Cannot obtain a lock on directory {blocks}. Clarion is probably already running." in done.stderr
    assert files_of(shared) == before
    assert running.rpc("getblockcount") == 5


def test_lock_ends_with_its_node(shared: Path, running: Node) -> None:
    assert running.stop() == 0
    running.start()
    assert running.rpc("getblockcount") == 5


def test_a_check_reads_beside_a_writer(shared: Path, running: Node) -> None:
    """The data directory's own lock is enough for who only reads the blocks."""
    assert running.stop() == 0
    lock = lock_directory(shared / "regtest" / "blocks")
    done = run_program("db", "check", "-regtest", f"-datadir={running.datadir}", f"-blocksdir={shared}")
    lock.release()
    assert (done.returncode, "no inconsistencies" in done.stdout) == (0, True), done.stderr
