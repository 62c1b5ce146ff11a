"""Looking at the SQLite files before they are opened."""

import sqlite3
from pathlib import Path

import pytest

from clarion.node.errors import ConfigError, StorageError
from clarion.node.storage.database import open_database
from clarion.node.storage.faults import failure
from clarion.node.storage.rebuild_step import Rebuild
from helpers.databases import FakeNetwork


def made(folder: Path) -> Path:
    """Make both databases; return their folder."""
    open_database(None, folder, FakeNetwork()).close()
    return folder / "chainstate"


@pytest.mark.parametrize("name", ["chain", "coins"])
def test_damage_goes_with_a_reindex_alone(tmp_path: Path, name: str) -> None:
    path = made(tmp_path) / f"{name}.sqlite"
    path.write_bytes(b"rubbish" * 1000)
    with pytest.raises(ConfigError, match=r"file is not a database .SQLITE_NOTADB.\. Please restart with -reindex"):
        open_database(None, tmp_path, FakeNetwork())
    assert path.read_bytes() == b"rubbish" * 1000
    open_database(None, tmp_path, FakeNetwork(), rebuild=Rebuild.WIPE_ALL).close()
    open_database(None, tmp_path, FakeNetwork()).close()


def test_new_chain_of_a_reindex_is_marked(tmp_path: Path) -> None:
    """Killed behind this, the next start goes on instead of cutting the block files."""
    (made(tmp_path) / "chain.sqlite").unlink()
    open_database(None, tmp_path, FakeNetwork(), rebuild=Rebuild.WIPE_ALL).close()
    with open_database(None, tmp_path, FakeNetwork()) as database:
        assert database.rebuild_step() is Rebuild.WIPE_ALL


def test_coins_of_a_rebuild_that_was_begun_may_be_damaged(tmp_path: Path) -> None:
    path = made(tmp_path) / "coins.sqlite"
    with open_database(None, tmp_path, FakeNetwork()) as database:
        database.begin_rebuild(keep_blocks=True)
    path.write_bytes(b"rubbish" * 1000)
    with open_database(None, tmp_path, FakeNetwork()) as database:
        assert database.coins.tip() is None


def test_sound_files_stay(tmp_path: Path) -> None:
    folder = made(tmp_path)
    before = {name: (folder / name).stat().st_ino for name in ("chain.sqlite", "coins.sqlite")}
    open_database(None, tmp_path, FakeNetwork(), rebuild=Rebuild.WIPE_ALL).close()
    assert {name: (folder / name).stat().st_ino for name in before} == before


def test_log_of_a_lost_file_goes_with_it(tmp_path: Path) -> None:
    """SQLite would replay it into the new file."""
    folder = made(tmp_path)
    (folder / "coins.sqlite").write_bytes(b"rubbish" * 1000)
    (folder / "coins.sqlite-wal").write_bytes(b"old log")
    open_database(None, tmp_path, FakeNetwork(), rebuild=Rebuild.WIPE_CHAINSTATE).close()
    assert not (folder / "coins.sqlite-wal").exists()


def test_other_component_of_ours_is_refused(tmp_path: Path) -> None:
    folder = made(tmp_path)
    (folder / "coins.sqlite").write_bytes((folder / "chain.sqlite").read_bytes())
    with pytest.raises(ConfigError, match="holds something else than the coins database"):
        open_database(None, tmp_path, FakeNetwork(), rebuild=Rebuild.WIPE_ALL)


def test_nothing_goes_without_block_files(tmp_path: Path) -> None:
    """A wrong -blocksdir, say."""
    path = made(tmp_path) / "chain.sqlite"
    path.write_bytes(b"rubbish" * 1000)
    blocks = tmp_path / "blocks"
    blocks.mkdir()
    with pytest.raises(ConfigError, match=r"blocks holds no block files to build .*chain\.sqlite from.*NOTADB"):
        open_database(None, tmp_path, FakeNetwork(), rebuild=Rebuild.WIPE_ALL, blocks_dir=blocks)
    assert path.read_bytes() == b"rubbish" * 1000


@pytest.mark.parametrize(
    ("code", "advised"),
    [
        (sqlite3.SQLITE_CORRUPT, True),
        (sqlite3.SQLITE_CORRUPT_INDEX, True),
        (sqlite3.SQLITE_NOTADB, True),
        (sqlite3.SQLITE_FULL, False),
        (sqlite3.SQLITE_BUSY, False),
        (sqlite3.SQLITE_IOERR_READ, False),
    ],
)
def test_advice_is_for_damage(code: int, advised: bool) -> None:
    """Damage that is met later is told with the option, too."""
    error = sqlite3.DatabaseError("it failed")
    error.sqlite_errorcode = code
    error.sqlite_errorname = "SQLITE_NAME"
    found = failure("/data/coins.sqlite", error)
    assert isinstance(found, StorageError)
    assert str(found).endswith("Please restart with -reindex-chainstate or -reindex to recover.") is advised
    assert str(failure("/data/other.sqlite", error)) == "/data/other.sqlite: it failed (SQLITE_NAME)"


def damaged_index(folder: Path) -> Path:
    made(folder)
    (folder / "indexes").mkdir()
    path = folder / "indexes" / "things.sqlite"
    path.write_bytes(b"rubbish" * 1000)
    return path


def test_damaged_index_is_refused(tmp_path: Path) -> None:
    path = damaged_index(tmp_path)
    with (
        open_database(None, tmp_path, FakeNetwork()) as database,
        pytest.raises(ConfigError, match=r"NOTADB.\. To have it built again, delete it, with its -wal and -shm\."),
    ):
        database.open_index("things", FakeNetwork())
    assert path.read_bytes() == b"rubbish" * 1000


def test_rebuild_replaces_a_damaged_index(tmp_path: Path) -> None:
    damaged_index(tmp_path)
    with open_database(None, tmp_path, FakeNetwork()) as database:
        database.begin_rebuild(keep_blocks=False)
        index = database.open_index("things", FakeNetwork())
        assert index.tip() is None
        index.close()


def test_rebuild_keeps_a_damaged_index_with_what_no_chain_gives_back(tmp_path: Path) -> None:
    path = damaged_index(tmp_path)
    with open_database(None, tmp_path, FakeNetwork()) as database:
        database.begin_rebuild(keep_blocks=False)
        with pytest.raises(ConfigError, match="NOTADB"):
            database.open_index("things", FakeNetwork(), b"W")
    assert path.read_bytes() == b"rubbish" * 1000
