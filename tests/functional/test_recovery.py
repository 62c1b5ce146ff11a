"""A node that is killed in the middle of an import ends where an undisturbed one ends, and its log tells the chain."""

import subprocess
import time
from pathlib import Path

import pytest

from clarion.node.errors import ConfigError
from clarion.node.events.row import EventKind
from clarion.node.params.chain_params import select_params
from clarion.node.storage.chain_reader import ChainReader
from helpers.blk_files import GENERATED_COINS, GENERATED_TIP, generated_file
from helpers.node import Node, command_line, run_program
from helpers.node_database import database_url


def open_reader(folder: Path) -> ChainReader:
    """Return a reader of the node's database. Raises ConfigError while there is none."""
    return ChainReader(database_url(folder), folder / "regtest", select_params("regtest"))


def count_blocks(folder: Path) -> int:
    """Return how many blocks are connected, 0 while the database is not there yet."""
    try:
        with open_reader(folder) as reader, reader.snapshot() as view:
            return view.height() + 1
    except ConfigError:
        return 0


def wait_for_blocks(folder: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the database under `folder` has that many connected blocks."""
    for _ in range(3000):
        assert process.poll() is None, "the import ended before it was killed"
        if count_blocks(folder) >= count:
            return
        time.sleep(0.02)
    raise AssertionError("the import did not get that far")


def replayed_chain(folder: Path) -> list[bytes]:
    """Return the hashes of the chain that the rows of the event log lead to."""
    with open_reader(folder) as reader:
        rows = reader.events.read(0, 1_000_000)
    chain: list[bytes] = []
    for row in rows:
        if row.kind is EventKind.BLOCK_CONNECTED:
            chain.append(row.block_hash)
        elif row.kind is EventKind.BLOCK_DISCONNECTED:
            assert chain.pop() == row.block_hash, f"row {row.seq} leaves a block that is not the tip"
    return chain


@pytest.mark.slow
def test_import_killed_twice_in_full_blocks(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    source = generated_file(tmp_path_factory)
    folder = tmp_path / "data"
    folder.mkdir()
    command = ["import", str(source), "-regtest", f"-datadir={folder}", "-par=1"]
    for height in (124, 136):
        with subprocess.Popen(command_line(*command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
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
