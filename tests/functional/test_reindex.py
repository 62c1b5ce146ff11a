"""-reindex, -reindex-chainstate and start-up checks on real processes, killed on the way."""

import time
from pathlib import Path

import pytest

from helpers.blk_files import GENERATED_COINS, GENERATED_TIP, generated_file
from helpers.node import Node, RpcFailure, run_program

HEIGHT_AFTER = 137
PATIENCE_S = 60


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


@pytest.mark.slow
@pytest.mark.parametrize("option", ["-reindex", "-reindex-chainstate"])
def test_rebuild_killed_three_times(loaded: Path, option: str) -> None:
    size = (loaded / "regtest" / "blocks" / "blk00000.dat").stat().st_size
    node = Node(loaded, "-par=1")
    node.start(option)
    for moment in (0.1, 0.7, 1.5):
        time.sleep(moment)
        node.kill()
        node.start()
    wait_for_tip(node)
    assert_facts(node)
    assert node.stop() == 0
    assert (loaded / "regtest" / "blocks" / "blk00000.dat").stat().st_size == size
    with node:
        assert node.rpc("verifychain", 4, 20) is True
        assert_facts(node)


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
    import shutil
    import sqlite3

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
