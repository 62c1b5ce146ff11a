"""-reindex, -reindex-chainstate and start-up checks on real processes, killed on the way."""

import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from helpers.databases import postgres_schema
from helpers.event_source import wait_until
from helpers.node import Node, RpcFailure, free_port, run_program
from helpers.node_database import on_server
from helpers.zigzag import Zigzag, make_zigzag

PATIENCE_S = 120


@pytest.fixture(scope="module")
def zigzag(tmp_path_factory: pytest.TempPathFactory) -> Zigzag:
    """The blocks, with stale branches."""
    return make_zigzag(tmp_path_factory)


@pytest.fixture(scope="module")
def loaded(zigzag: Zigzag, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with the chain."""
    folder = tmp_path_factory.mktemp("data")
    done = run_program("import", str(zigzag.path), "-regtest", f"-datadir={folder}", "-par=1")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def coins(loaded: Path) -> dict[str, object]:
    """What `gettxoutsetinfo` says before anything is rebuilt."""
    with Node(loaded, "-par=1") as node:
        return read_coins(node)


def read_coins(node: Node) -> dict[str, object]:
    found = node.rpc("gettxoutsetinfo", "hash_serialized_3")
    return {name: found[name] for name in ("bestblock", "txouts", "hash_serialized_3")}


def wait_for_tip(node: Node, tip: object) -> None:
    """Wait until the node has the whole chain."""
    deadline = time.monotonic() + PATIENCE_S
    while node.rpc("getbestblockhash") != tip:
        assert time.monotonic() < deadline, node.debug_log()[-2000:]
        time.sleep(0.1)


def rebuild_with_kills(folder: Path, coins: dict[str, object], option: str, *options: str) -> None:
    """Rebuild, killed three times, and compare the outcome and the place of the blocks."""
    size = (folder / "regtest" / "blocks" / "blk00000.dat").stat().st_size
    node = Node(folder, "-par=1", *options)
    node.start(option)
    for moment in (0.1, 0.2, 0.4):
        time.sleep(moment)
        node.kill()
        node.start()
    wait_for_tip(node, coins["bestblock"])
    assert read_coins(node) == coins
    assert node.stop() == 0
    assert (folder / "regtest" / "blocks" / "blk00000.dat").stat().st_size == size
    with node:
        assert node.rpc("verifychain", 4, 20) is True
        assert read_coins(node) == coins
    checked = run_program("db", "check", "-regtest", f"-datadir={folder}", *options)
    assert (checked.returncode, "no inconsistencies" in checked.stdout) == (0, True), checked.stderr


@pytest.mark.slow
@pytest.mark.parametrize("option", ["-reindex", "-reindex-chainstate"])
def test_rebuild_killed_three_times(loaded: Path, coins: dict[str, object], option: str) -> None:
    rebuild_with_kills(loaded, coins, option)


@pytest.mark.slow
def test_rebuild_on_postgresql_killed_three_times(loaded: Path, coins: dict[str, object], tmp_path: Path) -> None:
    """The block files of one node are taken over by another with a server: copied, then indexed where they lie."""
    shutil.copytree(loaded / "regtest" / "blocks", tmp_path / "regtest" / "blocks")
    with postgres_schema() as url:
        rebuild_with_kills(tmp_path, coins, "-reindex", f"-database={url}")


@pytest.mark.slow
def test_stop_interrupts_a_reindex(loaded: Path, zigzag: Zigzag) -> None:
    node = Node(loaded, "-par=1")
    node.start("-reindex")
    assert node.stop() == 0
    with node:
        wait_for_tip(node, zigzag.tip.hash_hex)
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


@pytest.mark.parametrize("at", [150, 85], ids=["transactions", "a count that can't be decoded"])
def test_a_damaged_block_is_named_and_fetched_from_a_peer(tmp_path: Path, at: int) -> None:
    port = free_port()
    with Node(tmp_path / "good", "-par=1", "-listen=1", f"-bind=127.0.0.1:{port}") as good:
        good.rpc("generatetodescriptor", 30, "raw(51)")
        tip, damaged = good.rpc("getbestblockhash"), good.rpc("getblockhash", 12)
        raw = bytes.fromhex(good.rpc("getblock", damaged, 0))
        good.stop()
        shutil.copytree(tmp_path / "good", tmp_path / "bad")
        path = tmp_path / "bad" / "regtest" / "blocks" / "blk00000.dat"
        data = bytearray(path.read_bytes())
        data[data.index(raw) + at] ^= 0x80
        path.write_bytes(data)
        good.start()
        bad = Node(tmp_path / "bad", "-par=1")
        bad.start("-reindex")
        wait_until(lambda: "Reindexing finished" in bad.debug_log(), timeout_s=60)
        found = bad.rpc("getblockchaininfo")
        assert (found["blocks"], found["headers"]) == (11, 30)
        assert f"block {damaged}" in bad.debug_log()
        assert "1 blocks in the block files are damaged" in bad.debug_log()
        bad.rpc("addnode", f"127.0.0.1:{port}", "onetry")
        wait_for_tip(bad, tip)
        assert bad.stop() == 0


def test_a_key_that_fits_no_block_file_costs_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path, "-par=1")
    with node:
        node.rpc("generatetodescriptor", 5, "raw(51)")
    key = tmp_path / "regtest" / "blocks" / "xor.dat"
    before = key.read_bytes()
    key.write_bytes(bytes(range(1, 9)))
    with pytest.raises(AssertionError, match=r"No block of regtest can be read .* 6 blocks, which would be lost"):
        node.start("-reindex")
    key.write_bytes(before)
    with node:
        assert node.rpc("getblockcount") == 5


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
