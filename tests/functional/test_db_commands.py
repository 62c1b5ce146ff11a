"""`clarion db check`, `dump` and `restore` on real processes, killed on the way, over both kinds of database."""

import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from helpers.databases import postgres_schema
from helpers.node import Node, command_line, run_program
from helpers.node_database import on_server
from helpers.zigzag import make_zigzag


def db(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `clarion db`."""
    return run_program("db", "-regtest", f"-datadir={folder}", *words)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with a chain, stale branches and an invalid one."""
    folder = tmp_path_factory.mktemp("data")
    done = run_program("import", str(make_zigzag(tmp_path_factory).path), "-regtest", f"-datadir={folder}", "-par=1")
    assert done.returncode == 0, done.stderr
    with Node(folder, "-par=1") as node:
        (stale,) = node.rpc("generatetodescriptor", 1, "raw(51)#8lvh9jxk")
        node.rpc("invalidateblock", stale)
    return folder


@pytest.fixture(scope="module")
def dump(loaded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dump of it."""
    path = tmp_path_factory.mktemp("dump") / "chain.dump"
    done = db(loaded, "dump", str(path))
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def facts(loaded: Path) -> dict[str, object]:
    """Return what a node says of its chain."""
    with Node(loaded, "-par=1") as node:
        return read_facts(node)


def read_facts(node: Node) -> dict[str, object]:
    coins = node.rpc("gettxoutsetinfo", "hash_serialized_3")
    tips = sorted((tip["status"], tip["hash"]) for tip in node.rpc("getchaintips"))
    assert {status for status, _ in tips} == {"active", "valid-fork", "invalid"}
    return {"tips": tips, **{name: coins[name] for name in ("bestblock", "txouts", "hash_serialized_3")}}


def assert_same_chain(folder: Path, facts: dict[str, object], *options: str) -> None:
    with Node(folder, "-par=1", *options) as node:
        assert read_facts(node) == facts
        assert node.rpc("verifychain", 3, 20) is True


@pytest.mark.slow
def test_check_of_a_whole_chain(loaded: Path) -> None:
    done = db(loaded, "check")
    assert (done.returncode, done.stderr.count("Error")) == (0, 0)
    assert "no inconsistencies" in done.stdout


DAMAGES = {
    "coin": ("coins", "DELETE FROM coins WHERE code / 2 > 130", "the coins are not as the block left them"),
    "log": ("chain", "DELETE FROM event_log WHERE height = 50", "the event log has a gap"),
    "work": ("chain", "UPDATE blocks SET chainwork = zeroblob(32) WHERE height = 7", "its chainwork is wrong"),
    "position": ("chain", "UPDATE blocks SET data_pos = data_pos + 1 WHERE height = 9", "no record of"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGES)
def test_check_finds(loaded: Path, tmp_path: Path, name: str) -> None:
    if on_server():
        pytest.skip("the damage is done to SQLite's files")
    database, statement, expected = DAMAGES[name]
    shutil.copytree(loaded, tmp_path / "copy")
    connection = sqlite3.connect(tmp_path / "copy" / "regtest" / "chainstate" / f"{database}.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()
    done = db(tmp_path / "copy", "check")
    assert done.returncode == 1
    assert expected in done.stderr


def size_of(path: Path) -> int:
    """Return the size in bytes, 0 while there is no such file."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@pytest.mark.slow
def test_dump_killed_and_gone_on_with(loaded: Path, dump: Path, tmp_path: Path) -> None:
    path = tmp_path / "again.dump"
    for _ in range(3):
        process = subprocess.Popen(
            command_line("db", "-regtest", f"-datadir={loaded}", "dump", str(path)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        part = path.with_name("again.dump.part")
        size = size_of(part)
        while process.poll() is None and size_of(part) <= size:
            time.sleep(0.01)
        process.kill()
        process.wait()
    assert db(loaded, "dump", str(path)).returncode == 0
    assert path.read_bytes() == dump.read_bytes()


@pytest.mark.slow
def test_restore_killed_and_gone_on_with(dump: Path, facts: dict[str, object], tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for seconds in (0.6, 0.8, 1.0):
        process = subprocess.Popen(
            command_line("db", "-regtest", f"-datadir={data}", "restore", str(dump)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(seconds)
        process.kill()
        process.wait()
    done = db(data, "restore", str(dump))
    # One of the runs may have come to the end before it was killed.
    assert done.returncode == 0 or "There is a chain" in done.stderr
    assert db(data, "check").returncode == 0
    assert_same_chain(data, facts)


@pytest.mark.slow
def test_over_postgresql_and_back(dump: Path, facts: dict[str, object], tmp_path: Path) -> None:
    with postgres_schema() as url:
        first, second = tmp_path / "postgres", tmp_path / "sqlite"
        first.mkdir()
        second.mkdir()
        assert db(first, f"-database={url}", "restore", str(dump)).returncode == 0
        assert db(first, f"-database={url}", "check").returncode == 0
        assert_same_chain(first, facts, f"-database={url}")
        assert db(first, f"-database={url}", "dump", str(tmp_path / "back.dump")).returncode == 0
        assert db(second, "restore", str(tmp_path / "back.dump")).returncode == 0
        assert_same_chain(second, facts)


@pytest.mark.slow
def test_a_half_restored_directory_does_not_start(dump: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    damaged = bytearray(dump.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged.dump").write_bytes(damaged)
    done = db(data, "restore", str(tmp_path / "damaged.dump"))
    assert done.returncode == 1
    assert "damaged.dump: damaged at offset" in done.stderr
    started = run_program("-regtest", f"-datadir={data}", "-par=1")
    assert "is being restored" in started.stderr
    assert db(data, "restore", str(dump)).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda raw: b"SQLite format 3" + raw, "is not a dump of Clarion's"),
        (lambda raw: raw[:14] + b"\x02\x00" + raw[16:], "was written by a newer Clarion (format 2"),
        (lambda raw: raw[:-1], "is not whole"),
        (lambda raw: b"", "is not a dump of Clarion's"),
    ],
    ids=["foreign", "newer", "cut", "empty"],
)
def test_other_files_are_refused(dump: Path, tmp_path: Path, spoil: object, expected: str) -> None:
    assert callable(spoil)
    path = tmp_path / "other.dump"
    path.write_bytes(spoil(dump.read_bytes()))
    done = db(tmp_path, "restore", str(path))
    assert done.returncode == 1
    assert f"other.dump {expected}" in done.stderr


@pytest.mark.slow
def test_other_network_and_full_directory_are_refused(loaded: Path, dump: Path, tmp_path: Path) -> None:
    done = run_program("db", f"-datadir={tmp_path}", "-testnet4", "restore", str(dump))
    assert "holds the network regtest, not testnet4" in done.stderr
    done = db(loaded, "restore", str(dump))
    assert "There is a chain in this data directory already" in done.stderr


@pytest.mark.parametrize("words", [(), ("dump",), ("check", "x"), ("drop", "x"), ("restore", "a", "b")])
def test_wrong_words(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = db(tmp_path, *words)
    assert done.returncode == 1
    assert "clarion db needs one of" in done.stderr
