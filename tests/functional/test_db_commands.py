"""`clarion db check`, `dump` and `restore` on real processes, killed on the way, over both kinds of database."""

import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from clarion.node.params.networks import regtest_params
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage.blk_reader import scan_blocks
from clarion.node.storage.dump_file import DumpReader, DumpWriter, Kind
from helpers.databases import postgres_schema
from helpers.node import Node, command_line, run_program
from helpers.node_database import on_server
from helpers.zigzag import MAGIC, make_zigzag


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


def spoil_block(blocks: Path, place: int) -> str:
    """Flip a bit in the last transaction of the block at this place of the first file; return the block's hash."""
    path = blocks / "blk00000.dat"
    block = list(scan_blocks(path, MAGIC))[place]
    with path.open("r+b") as file:
        file.seek(block.offset + len(block.raw) - 1)
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))
    return hash_to_hex(BlockHash(sha256d(block.raw[:80])))


@pytest.fixture
def spoilt(loaded: Path, tmp_path: Path) -> tuple[Path, list[str]]:
    """Return a copy of the data directory with two damaged blocks, and their hashes."""
    if on_server():
        pytest.skip("the copy of the directory has no database of its own")
    folder = tmp_path / "copy"
    shutil.copytree(loaded, folder)
    return folder, [spoil_block(folder / "regtest" / "blocks", place) for place in (20, 122)]


@pytest.mark.slow
def test_check_names_every_damaged_block_once(spoilt: tuple[Path, list[str]]) -> None:
    folder, hashes = spoilt
    done = db(folder, "check")
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    for found in hashes:
        assert sum(line.startswith(f"Error: block {found}") and "bad-txnmrklroot" in line for line in errors) == 1
    # Besides them, where the way back over the coins ended.
    assert len(errors) == 3
    assert f"from height 122 downwards: block {hashes[1]} at height 122 is in the way" in errors[2]


@pytest.mark.slow
def test_check_counts_each_block_once(loaded: Path) -> None:
    done = db(loaded, "check")
    stored = done.stdout.split(" stored blocks")[0].split(", ")[-1]
    assert f"Checking: 100.0%, {stored} blocks" in done.stderr


@pytest.mark.slow
def test_dump_refuses_a_damaged_block(spoilt: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, hashes = spoilt
    done = db(folder, "dump", str(tmp_path / "bad.dump"))
    assert done.returncode == 1
    assert f"block {hashes[0]} at height 20: " in done.stderr
    assert "blk00000.dat: the record at offset" in done.stderr
    assert not (tmp_path / "bad.dump").exists()


@pytest.mark.slow
@pytest.mark.parametrize("part", ["block", "undo"])
def test_restore_refuses_a_damaged_block(dump: Path, tmp_path: Path, part: str) -> None:
    """Its digests are right: the block was damaged before it was dumped."""
    path = tmp_path / "bad.dump"
    with DumpReader(dump, regtest_params()) as reader:
        writer = DumpWriter(path, reader.head)
        for chunk in reader.chunks(reader.start):
            if chunk.kind is Kind.BLOCKS:
                row, *data = chunk.content[30]
                spoilt = data[part == "undo"]
                data[part == "undo"] = spoilt[:-1] + bytes([spoilt[-1] ^ 1])
                chunk.content[30] = [row, *data]
            if chunk.kind is not Kind.END:
                writer.append(chunk.kind, chunk.content)
        writer.finish()
    done = db(tmp_path, "restore", str(path))
    assert done.returncode == 1
    assert f"bad.dump: block {hash_to_hex(row[0])} at height {row[2]} is damaged" in done.stderr


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
    expected = "postgresql" if on_server() else str(loaded / "regtest" / "chainstate" / "chain.sqlite")
    assert f"There is a chain in the database {expected}" in done.stderr


@pytest.mark.slow
def test_dump_writes_over_nothing(loaded: Path, dump: Path, tmp_path: Path) -> None:
    before = dump.read_bytes()
    done = db(loaded, "dump", str(dump))
    assert done.returncode == 1
    assert f"{dump} exists already" in done.stderr
    assert dump.read_bytes() == before
    (tmp_path / "thesis.part").write_text("chapter one")
    done = db(loaded, "dump", str(tmp_path / "thesis"))
    assert "thesis.part is not an unfinished dump of this chain" in done.stderr
    assert (tmp_path / "thesis.part").read_text() == "chapter one"


@pytest.mark.slow
def test_dump_begins_anew_where_the_chain_moved_on(loaded: Path, tmp_path: Path) -> None:
    """What is there of an earlier tip can't be finished any more."""
    dump = tmp_path / "first.dump"
    assert db(loaded, "dump", str(dump)).returncode == 0
    with DumpReader(dump, regtest_params()) as reader:
        DumpWriter(tmp_path / "new.dump", {**reader.head, "tip": bytes(32)}).close()
    assert db(loaded, "dump", str(tmp_path / "new.dump")).returncode == 0
    assert (tmp_path / "new.dump").read_bytes() == dump.read_bytes()


@pytest.mark.parametrize("words", [["check"], ["dump", "x.dump"]], ids=" ".join)
def test_no_chain_is_told_and_nothing_made(tmp_path: Path, words: list[str]) -> None:
    done = db(tmp_path, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Error: No chain here: the data directory {tmp_path / 'regtest'} does not exist\n"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "regtest").mkdir()
    done = db(tmp_path, *words, f"-database=sqlite:///{tmp_path}/other")
    assert done.stderr == f"Error: No chain here: {tmp_path}/other/chain.sqlite does not exist\n"
    assert list((tmp_path / "regtest").iterdir()) == []


@pytest.mark.parametrize("words", [(), ("dump",), ("check", "x"), ("drop", "x"), ("restore", "a", "b")])
def test_wrong_words(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = db(tmp_path, *words)
    assert done.returncode == 1
    assert "clarion db needs one of" in done.stderr
