"""A SQLite database that can't grow or is locked: an error that names it, and nothing half-written."""

import contextlib
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.errors import StorageError
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint
from clarion.node.storage.database import Database
from clarion.node.storage.rows import ChainCommit
from helpers.databases import Place
from helpers.rows import block_hash, block_row, chain_of, coin, connected, outpoint


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder for SQLite files."""
    return Place("sqlite-file", None, tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB of memory; only root may make one."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], check=False, capture_output=True)
    if made.returncode:
        pytest.skip(f"no small file system: {made.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def limit_pages(database: Database, pages: int) -> None:
    """Let neither database grow beyond a number of pages (SQLite takes the present size if that is more)."""
    for writer in (database.chain._writer, database.coins._writer):
        writer.read(lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}").all())


def bulk(number: int) -> dict[OutPoint, Coin | None]:
    """Return coins that need more than a hundred pages."""
    return {outpoint(n, number): coin(n) for n in range(10_000)}


def fill(database: Database, done: list[int]) -> None:
    """Flush and commit until that fails; `done` takes the numbers of what did not."""
    for number in range(1_000):
        database.coins.flush(bulk(number), block_hash(number))
        database.chain.commit(ChainCommit([block_row(number)], None, [], [connected(number)]))
        done.append(number)


def walk_during_a_flush(database: Database) -> None:
    """Read, flush a lot, and read on in the same snapshot."""
    with database.coins.snapshot() as view:
        assert view.tip() == block_hash(0)
        database.coins.flush(dict.fromkeys(bulk(0)) | bulk(1), block_hash(1))
        list(view.iterate())


def test_full_database_is_named_and_unchanged(place: Place) -> None:
    with place.open() as database:
        database.chain.commit(chain_of(3))
        database.coins.flush({outpoint(1): coin(1)}, block_hash(2))
        limit_pages(database, 60)
        with pytest.raises(StorageError, match=r"coins.sqlite: database or disk is full \(SQLITE_FULL\)"):
            database.coins.flush(bulk(0), block_hash(3))
        rows = [block_row(height, "b") for height in range(3_000)]
        with pytest.raises(StorageError, match=r"chain.sqlite: database or disk is full \(SQLITE_FULL\)"):
            database.chain.commit(ChainCommit(rows, events=[connected(3)]))
        assert (database.coins.tip(), database.coins.count()) == (block_hash(2), 1)
        assert (database.chain.last_seq, len(list(database.chain.load_blocks()))) == (3, 3)


def test_store_goes_on_when_there_is_room_again(place: Place) -> None:
    with place.open() as database:
        limit_pages(database, 60)
        with pytest.raises(StorageError, match="full"):
            database.coins.flush(bulk(0), block_hash(3))
        limit_pages(database, 100_000)
        database.coins.flush(bulk(0), block_hash(3))
        assert (database.coins.tip(), database.coins.count()) == (block_hash(3), 10_000)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
def test_full_disk_is_survived(small_disk: Path) -> None:
    place = Place("sqlite-file", None, small_disk)
    done: list[int] = []
    with place.open() as database, pytest.raises(StorageError, match=r"disk (is full|I/O error)"):
        fill(database, done)
    number = len(done)
    assert number > 0
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    with place.open() as database:
        # The coins come first, so they may be one ahead.
        assert database.chain.last_seq == number
        flushed = database.coins.count() // 10_000
        assert database.coins.tip() == block_hash(flushed - 1)
        assert flushed in (number, number + 1)
        database.coins.flush(bulk(flushed), block_hash(flushed))


def test_lock_of_another_program_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.node.storage.engine.BUSY_TIMEOUT_S", 0.1)
    with place.open() as database:
        other = sqlite3.connect(place.chain_dir / "chainstate" / "coins.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"coins.sqlite: database is locked \(SQLITE_BUSY\)"):
            database.coins.flush({outpoint(1): coin(1)}, block_hash(0))
        other.execute("ROLLBACK")
        other.close()
        database.coins.flush({outpoint(1): coin(1)}, block_hash(0))
        assert database.coins.count() == 1


def test_old_reader_is_ended_when_the_log_grows(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("READER_AGE_S", 0.0), ("READER_LOG_BYTES", 1 << 18), ("_READER_CHECK_STEPS", 100)):
        monkeypatch.setattr(f"clarion.node.storage.engine.{name}", value)
    with place.open() as database:
        database.coins.flush(bulk(0), block_hash(0))
        with pytest.raises(StorageError, match="interrupted"):
            walk_during_a_flush(database)
        assert database.coins.tip() == block_hash(1)


def test_log_starts_anew_under_readers(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers follow each other without a gap; the log must not grow for ever."""
    monkeypatch.setattr("clarion.node.storage.checkpointer.RESTART_BYTES", 1 << 20)
    with place.open() as database, contextlib.ExitStack() as last:
        checkpointer = database.coins._writer.checkpointer
        assert checkpointer is not None
        for number in range(12):
            database.coins.flush(bulk(number % 2), block_hash(number))
            following = contextlib.ExitStack()
            following.enter_context(database.coins.snapshot()).tip()
            last.pop_all().close()
            last.push(following)
        deadline = time.monotonic() + 20
        while checkpointer.log_bytes and time.monotonic() < deadline:
            time.sleep(0.05)
            last.pop_all().close()
        assert checkpointer.log_bytes == 0
