"""A node that is killed in the middle of an import ends where an undisturbed one ends, and its log tells the chain."""

import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from helpers.blk_files import GENERATED_COINS, GENERATED_TIP, generated_file
from helpers.node import Node, program, run_program

CONNECTED, DISCONNECTED = 1, 2


def count_blocks(database: Path) -> int:
    """Return how many blocks are connected, 0 while the database is not there yet."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            (blocks,) = connection.execute("SELECT count(*) FROM active_chain").fetchone()
    except sqlite3.Error:
        return 0
    return int(blocks)


def wait_for_blocks(folder: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the database under `folder` has that many connected blocks."""
    database = folder / "regtest" / "chainstate" / "chain.sqlite"
    for _ in range(3000):
        assert process.poll() is None, "the import ended before it was killed"
        if count_blocks(database) >= count:
            return
        time.sleep(0.02)
    raise AssertionError("the import did not get that far")


def replayed_chain(folder: Path) -> list[bytes]:
    """Return the hashes of the chain that the rows of the event log lead to."""
    connection = sqlite3.connect(folder / "regtest" / "chainstate" / "chain.sqlite")
    chain: list[bytes] = []
    for seq, kind, block_hash in connection.execute("SELECT seq, kind, block_hash FROM event_log ORDER BY seq"):
        if kind == CONNECTED:
            chain.append(block_hash)
        elif kind == DISCONNECTED:
            assert chain.pop() == block_hash, f"row {seq} leaves a block that is not the tip"
    connection.close()
    return chain


@pytest.mark.slow
@pytest.mark.parametrize("kill_at", [(20, 131), (124, 136)], ids=["early-and-late", "twice-in-full-blocks"])
def test_killed_import(tmp_path: Path, kill_at: tuple[int, ...]) -> None:
    source = generated_file(tmp_path)
    folder = tmp_path / "data"
    folder.mkdir()
    command = ["import", str(source), "-regtest", f"-datadir={folder}", "-par=1"]
    for height in kill_at:
        with subprocess.Popen([*program(), *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            wait_for_blocks(folder, height, process)
            process.kill()
    done = run_program(*command)
    assert done.returncode == 0, done.stderr
    with Node(folder, "-par=1") as node:
        assert node.rpc("getbestblockhash") == GENERATED_TIP
        coins = node.rpc("gettxoutsetinfo", "hash_serialized_3")
        assert {key: coins[key] for key in GENERATED_COINS} == GENERATED_COINS
        heights = range(node.rpc("getblockcount") + 1)
        hashes = [bytes.fromhex(node.rpc("getblockhash", height))[::-1] for height in heights]
    assert replayed_chain(folder) == hashes
