"""Block files and a database that are not a pair: an older copy, another chain's, the wrong folder. Nothing is lost."""

import shutil
from pathlib import Path

import pytest

from helpers.databases import postgres_schema
from helpers.event_source import wait_until
from helpers.node import Node, run_program
from helpers.node_database import on_server

BLOCKS = 20
files_only = pytest.mark.skipif(on_server(), reason="it moves the database's files")


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A data directory with a chain of 20 blocks; beside it a copy of its database at 5."""
    folder = tmp_path / "used"
    with Node(folder, "-par=1") as node:
        node.rpc("generatetodescriptor", 5, "raw(51)")
    shutil.copytree(folder / "regtest" / "chainstate", tmp_path / "older")
    with Node(folder, "-par=1") as node:
        node.rpc("generatetodescriptor", BLOCKS - 5, "raw(51)")
    return folder


def start(folder: Path, *options: str) -> str:
    """Start a node that should refuse, and return what it says."""
    done = run_program(f"-datadir={folder}", "-regtest", "-server=0", "-listen=0", *options)
    assert done.returncode == 1
    return done.stderr


def blocks_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((folder / "regtest" / "blocks").glob("blk*.dat")))


@files_only
def test_an_older_copy_of_the_database_costs_no_block(used: Path) -> None:
    before = blocks_of(used)
    shutil.rmtree(used / "regtest" / "chainstate")
    shutil.copytree(used.parent / "older", used / "regtest" / "chainstate")
    with Node(used, "-par=1") as node:
        assert node.rpc("getblockcount") == 5
        assert f"{BLOCKS - 5} blocks in" in node.debug_log()
        assert "-reindex takes them in" in node.debug_log()
    assert blocks_of(used).startswith(before)
    with Node(used, "-par=1") as node:
        node.stop()
        node.start("-reindex")
        wait_until(lambda: node.rpc("getblockcount") == BLOCKS, timeout_s=60)


@files_only
def test_the_newer_database_comes_back_after_the_older_one_was_used(used: Path) -> None:
    chainstate = used / "regtest" / "chainstate"
    chainstate.rename(used.parent / "newer")
    shutil.copytree(used.parent / "older", chainstate)
    with Node(used, "-par=1") as node:
        node.rpc("generatetodescriptor", 3, "raw(52)")
    shutil.rmtree(chainstate)
    (used.parent / "newer").rename(chainstate)
    with Node(used, "-par=1", "-checklevel=4", "-checkblocks=0") as node:
        assert node.rpc("getblockcount") == BLOCKS
        assert node.rpc("verifychain", 4, 0) is True


@files_only
def test_the_database_of_another_chain_changes_nothing(used: Path) -> None:
    other = used.parent / "other"
    with Node(other, "-par=1") as node:
        node.rpc("generatetodescriptor", BLOCKS, "raw(53)")
    own = used / "regtest" / "chainstate"
    own.rename(used.parent / "own")
    shutil.copytree(other / "regtest" / "chainstate", own)
    folder = used / "regtest" / "blocks"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said = start(used)
    assert "Corrupted block database detected: the last block that the chain database names" in said
    assert "those of one chain" in said
    assert "those of one chain?" in start(used, "-reindex-chainstate")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    shutil.rmtree(own)
    (used.parent / "own").rename(own)
    with Node(used, "-par=1") as node:
        assert node.rpc("getblockcount") == BLOCKS


@files_only
def test_an_empty_database_beside_blocks_is_refused(used: Path) -> None:
    before = blocks_of(used)
    shutil.rmtree(used / "regtest" / "chainstate")
    said = start(used)
    assert "holds blocks, but the chain database is empty" in said
    assert "-reindex" in said
    assert blocks_of(used) == before


@files_only
def test_a_database_without_its_block_files_is_refused_and_not_emptied(used: Path, tmp_path: Path) -> None:
    (used / "regtest" / "blocks").rename(tmp_path / "elsewhere")
    assert "holds no block files, but the chain database has 21 blocks" in start(used)
    for option in ("-reindex", "-reindex-chainstate"):
        assert "which would be lost" in start(used, option)
    shutil.rmtree(used / "regtest" / "blocks")
    (tmp_path / "elsewhere").rename(used / "regtest" / "blocks")
    with Node(used, "-par=1") as node:
        assert node.rpc("getblockcount") == BLOCKS


def test_the_wrong_folder_for_a_database_on_a_server(tmp_path: Path) -> None:
    with postgres_schema() as url:
        with Node(tmp_path / "right", "-par=1", f"-database={url}") as node:
            node.rpc("generatetodescriptor", BLOCKS, "raw(51)")
        (tmp_path / "wrong").mkdir()
        for option in ("-par=1", "-reindex"):
            assert "those of one chain?" in start(tmp_path / "wrong", f"-database={url}", option)
        with Node(tmp_path / "right", "-par=1", f"-database={url}") as node:
            assert node.rpc("getblockcount") == BLOCKS
