"""Damaged and missing SQLite files: what a start says, what -reindex and -reindex-chainstate make of them."""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.node import Node, run_program
from helpers.node_database import on_server
from helpers.waiting import wait_for

pytestmark = pytest.mark.skipif(on_server(), reason="the damage is done to SQLite's files")

BLOCKS = 130
SCRIPT = "raw(51)#8lvh9jxk"
WATCHED = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"

Damage = Callable[[Path], None]


def rubbish_half(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xa5" * (size - size // 2))


def rubbish_head(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\xa5" * 512)


def rubbish(path: Path) -> None:
    path.write_bytes(b"\xa5" * 50_000)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def missing(path: Path) -> None:
    path.unlink()


def no_tables(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"DROP TABLE {'active_chain' if path.stem == 'chain' else 'coins_tip'}")
    connection.close()


DAMAGES: list[Damage] = [rubbish_half, rubbish_head, rubbish, cut, emptied, missing, no_tables]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data directory of a node that has blocks and a watch, and does not run."""
    folder = tmp_path_factory.mktemp("stopped")
    with Node(folder, "-par=1", "-watches=1") as node:
        node.rpc("generatetodescriptor", BLOCKS, SCRIPT)
        node.rpc("addwatch", "mine", {"addresses": [WATCHED]})
    return folder


@pytest.fixture
def folder(stopped: Path, tmp_path: Path) -> Path:
    """Return a copy to damage."""
    return Path(shutil.copytree(stopped, tmp_path / "copy"))


def database(folder: Path, name: str) -> Path:
    return folder / "regtest" / "chainstate" / f"{name}.sqlite"


def refused(folder: Path, *options: str) -> str:
    """Start a node that must end at once; return its one line of error."""
    done = run_program("-regtest", f"-datadir={folder}", "-par=1", "-server=0", "-connect=0", "-listen=0", *options)
    assert done.returncode == 1, done.stdout[-2000:]
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def rebuilt(folder: Path, option: str) -> str:
    """Rebuild, check that everything is there, and return the log."""
    node = Node(folder, "-par=1", "-watches=1")
    node.start(option)
    wait_for(lambda: node.rpc("getblockcount") == BLOCKS)
    wait_for(lambda: "Reindexing finished" in node.debug_log())
    assert node.rpc("gettxoutsetinfo")["txouts"] == BLOCKS
    assert [watch["name"] for watch in node.rpc("listwatches")] == ["mine"]
    assert node.stop() == 0
    checked = run_program("db", "check", "-regtest", f"-datadir={folder}")
    assert (checked.returncode, "no inconsistencies" in checked.stdout) == (0, True), checked.stderr
    with node:
        assert node.rpc("getblockcount") == BLOCKS
    return node.debug_log()


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["chain", "coins"])
def test_reindex_mends(folder: Path, name: str, damage: Damage) -> None:
    damage(database(folder, name))
    log = rebuilt(folder, "-reindex")
    assert f"{name}.sqlite: " in log
    assert "made anew from the block files" in log


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_reindex_chainstate_mends_the_coins(folder: Path, damage: Damage) -> None:
    chain = database(folder, "chain").stat().st_ino
    damage(database(folder, "coins"))
    rebuilt(folder, "-reindex-chainstate")
    assert database(folder, "chain").stat().st_ino == chain


def test_coins_of_another_chain_database(folder: Path, tmp_path: Path) -> None:
    with Node(tmp_path / "other", "-par=1") as other:
        other.rpc("generatetodescriptor", 3, SCRIPT)
    shutil.copy(database(tmp_path / "other", "coins"), database(folder, "coins"))
    said = refused(folder)
    assert "belongs to another chain database" in said
    assert said.endswith("Please restart with -reindex-chainstate or -reindex to recover.")
    rebuilt(folder, "-reindex-chainstate")


@pytest.mark.slow
@pytest.mark.parametrize("damage", [rubbish_head, rubbish, cut, emptied, missing, no_tables])
@pytest.mark.parametrize(
    ("name", "option", "repair"),
    [
        ("chain", "-reindex=0", "-reindex"),
        ("chain", "-reindex-chainstate", "-reindex"),
        ("coins", "-reindex=0", "-reindex-chainstate or -reindex"),
    ],
)
def test_refusal_names_file_fault_and_option(folder: Path, name: str, option: str, repair: str, damage: Damage) -> None:
    path = database(folder, name)
    damage(path)
    before = path.read_bytes() if path.exists() else None
    said = refused(folder, option)
    assert str(path) in said
    assert said.endswith(f". Please restart with {repair} to recover.")
    assert (path.read_bytes() if path.exists() else None) == before


def newer(path: Path) -> None:
    component = path.stem
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(f"UPDATE clarion_{component}_version SET version_num = '9999'")
    connection.close()


def other_network(path: Path) -> None:
    connection = sqlite3.connect(path)
    with connection:
        table = "meta" if path.stem == "chain" else "coins_meta"
        connection.execute(f"UPDATE {table} SET value = ? WHERE key = 'network'", (b"signet",))
    connection.close()


def other_program(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE photos (id)")
    connection.close()


def not_a_file(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.slow
@pytest.mark.parametrize("option", ["-reindex", "-reindex-chainstate"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (newer, "was written by a newer Clarion"),
        (other_network, "is a database of network signet"),
        (other_program, "is a database of another program"),
        (not_a_file, "Cannot open the database"),
    ],
)
@pytest.mark.parametrize("name", ["chain", "coins"])
def test_what_is_no_damage_stays(
    folder: Path, name: str, change: Callable[[Path], None], reason: str, option: str
) -> None:
    """Not even the other file goes, though it is damaged."""
    other = database(folder, "coins" if name == "chain" else "chain")
    rubbish(other)
    change(database(folder, name))
    stat = database(folder, name).stat()
    assert reason in refused(folder, option)
    assert other.read_bytes() == b"\xa5" * 50_000
    assert database(folder, name).stat().st_ino == stat.st_ino


def test_damaged_file_that_another_process_has_open(folder: Path) -> None:
    path = database(folder, "coins")
    rubbish(path)
    with path.open("r+b") as file:
        # As SQLite does for a connection in WAL mode: a byte among those for readers.
        fcntl.lockf(file, fcntl.LOCK_SH, 1, 0x40000002)
        assert "another process has it open" in refused(folder, "-reindex")
    assert path.read_bytes() == b"\xa5" * 50_000
