"""-reindex, -reindex-chainstate and start-up checks on real processes, killed on the way."""

import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from helpers.blk_files import GENERATED_COINS, GENERATED_TIP, generated_file
from helpers.databases import postgres_schema
from helpers.node import Node, RpcFailure, run_program
from helpers.node_database import on_server

PATIENCE_S = 120


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with the generated chain."""
    source = generated_file(tmp_path_factory.mktemp("chain"))
    folder = tmp_path_factory.mktemp("data")
    done = run_program("import", str(source), "-regtest", f"-datadir={folder}", "-par=1")
    assert done.returncode == 0, done.stderr
    return folder


def wait_for_tip(node: Node) -> None:
    """Wait until the node has the whole chain."""
    deadline = time.monotonic() + PATIENCE_S
    while node.rpc("getbestblockhash") != GENERATED_TIP:
        assert time.monotonic() < deadline, node.debug_log()[-2000:]
        time.sleep(0.1)


def assert_facts(node: Node) -> None:
    coins = node.rpc("gettxoutsetinfo", "hash_serialized_3")
    assert {key: coins[key] for key in GENERATED_COINS} == GENERATED_COINS


def rebuild_with_kills(folder: Path, option: str, *options: str) -> None:
    """Rebuild, killed three times, and compare the outcome and the place of the blocks."""
    size = (folder / "regtest" / "blocks" / "blk00000.dat").stat().st_size
    node = Node(folder, "-par=1", *options)
    node.start(option)
    for moment in (0.1, 0.7, 1.5):
        time.sleep(moment)
        node.kill()
        node.start()
    wait_for_tip(node)
    assert_facts(node)
    assert node.stop() == 0
    assert (folder / "regtest" / "blocks" / "blk00000.dat").stat().st_size == size
    with node:
        assert node.rpc("verifychain", 4, 20) is True
        assert_facts(node)
    checked = run_program("db", "check", "-regtest", f"-datadir={folder}", *options)
    assert (checked.returncode, "no inconsistencies" in checked.stdout) == (0, True), checked.stderr


@pytest.mark.slow
@pytest.mark.parametrize("option", ["-reindex", "-reindex-chainstate"])
def test_rebuild_killed_three_times(loaded: Path, option: str) -> None:
    rebuild_with_kills(loaded, option)


@pytest.mark.slow
def test_rebuild_on_postgresql_killed_three_times(loaded: Path, tmp_path: Path) -> None:
    """The block files of one node are taken over by another with a server: copied, then indexed where they lie."""
    shutil.copytree(loaded / "regtest" / "blocks", tmp_path / "regtest" / "blocks")
    with postgres_schema() as url:
        rebuild_with_kills(tmp_path, "-reindex", f"-database={url}")


@pytest.mark.slow
def test_stop_interrupts_a_reindex(loaded: Path) -> None:
    node = Node(loaded, "-par=1")
    node.start("-reindex")
    assert node.stop() == 0
    with node:
        wait_for_tip(node)
        assert "Reindexing finished" in node.debug_log()


@pytest.mark.slow
def test_missing_coins_are_found_at_start(loaded: Path, tmp_path: Path) -> None:
    if on_server():
        pytest.skip("the damage is done to SQLite's file")
    folder = tmp_path / "copy"
    shutil.copytree(loaded, folder)
    with sqlite3.connect(folder / "regtest" / "chainstate" / "coins.sqlite") as coins:
        coins.execute("DELETE FROM coins")
    coins.close()
    done = run_program("-regtest", f"-datadir={folder}", "-par=1", f"-rpcport={Node(folder).rpc_port}")
    assert done.returncode == 1
    assert "Corrupted block database detected" in done.stderr
    assert "Please restart with -reindex or -reindex-chainstate to recover." in done.stderr


def test_time_that_went_back(tmp_path: Path) -> None:
    with Node(tmp_path) as node:
        node.rpc("generatetodescriptor", 1, "raw(51)#8lvh9jxk")
    with pytest.raises(AssertionError, match="appears to be from the future"):
        Node(tmp_path, "-mocktime=1300000000").start()


def test_verifychain_arguments(tmp_path: Path) -> None:
    with Node(tmp_path, "-checklevel=1") as node:
        node.rpc("generatetodescriptor", 8, "raw(51)#8lvh9jxk")
        assert [node.rpc("verifychain", level, 0) for level in range(5)] == [True] * 5
        assert node.rpc("verifychain", 9, -1) is True
        with pytest.raises(RpcFailure, match="not of expected type number"):
            node.rpc("verifychain", "4")
