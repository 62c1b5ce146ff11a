"""The coins of a snapshot beside the ordinary ones, on every database: made, read, left behind, and taking their place."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.coin_store import CoinStore, coin_key
from clarion.node.storage.database import Database
from clarion.node.storage.rows import ChainCommit
from clarion.node.storage.snapshot_record import SNAPSHOT_KEY, SnapshotRecord, SnapshotState
from helpers.databases import Place
from helpers.rows import block_hash, coin, outpoint

BASE = block_hash(2)


def _fill(database: Database) -> CoinStore:
    """Put coins 0 to 2 into the ordinary place and 10 to 14 into a snapshot's."""
    database.coins.flush({outpoint(n): coin(n) for n in range(3)}, block_hash(1))
    store = database.snapshot.create()
    rows = [(coin_key(outpoint(n)), coin(n).value, coin(n).code, coin(n).script_pubkey) for n in range(10, 15)]
    store.load(rows[:3])
    store.load(rows[3:])
    store.end_load(BASE)
    return store


def _note(database: Database, state: SnapshotState) -> None:
    record = SnapshotRecord(state, BASE, b"12345678")
    database.chain.commit(ChainCommit(meta={SNAPSHOT_KEY: record.encode()}))
    assert database.snapshot_record() == record


def _seen(place: Place) -> tuple[BlockHash | None, int]:
    with place.reader() as reader, reader.coins() as coins:
        return coins.tip(), coins.count()


def test_readers_see_the_coins_of_the_active_chain(place: Place) -> None:
    with place.open() as database:
        store = _fill(database)
        assert (store.tip(), store.count()) == (BASE, 5)
        assert (database.coins.tip(), database.coins.count()) == (block_hash(1), 3)
        assert _seen(place) == (block_hash(1), 3)
        _note(database, SnapshotState.UNVALIDATED)
        assert _seen(place) == (BASE, 5)
        _note(database, SnapshotState.VALIDATED)
        assert _seen(place) == (BASE, 5)
        _note(database, SnapshotState.INVALID)
        assert _seen(place) == (block_hash(1), 3)


def test_a_place_is_made_anew(place: Place) -> None:
    with place.open() as database:
        _fill(database)
        assert database.snapshot.create().count() == 0
        database.snapshot.remove()
        assert not database.snapshot.exists


def test_of_two_coins_of_one_key_the_later_counts(database: Database) -> None:
    store = database.snapshot.create()
    store.load([(coin_key(outpoint(1)), value, 2, b"") for value in (1, 2)])
    store.load([(coin_key(outpoint(1)), 3, 2, b"")])
    assert [coin.value for _, coin in store.iterate()] == [3]


def test_a_snapshot_is_there_at_the_next_start(durable_place: Place) -> None:
    with durable_place.open() as database:
        _fill(database)
        _note(database, SnapshotState.UNVALIDATED)
    with durable_place.open() as database:
        assert database.snapshot.exists
        assert database.snapshot.open().count() == 5
        assert database.coins.count() == 3


def test_validated_coins_take_the_place_of_the_ordinary_ones(durable_place: Place) -> None:
    with durable_place.open() as database:
        _fill(database)
        _note(database, SnapshotState.VALIDATED)
    for _ in range(2):
        with durable_place.open() as database:
            assert database.snapshot_record() is None
            assert not database.snapshot.exists
            assert (database.coins.tip(), database.coins.count()) == (BASE, 5)
            database.coins.flush({}, BASE)
    assert _seen(durable_place) == (BASE, 5)


@contextmanager
def _other_reader(path: Path) -> Iterator[None]:
    """Another process that has a SQLite file open."""
    program = f"import sqlite3; c = sqlite3.connect({str(path)!r}); c.execute('SELECT * FROM coins').fetchone(); "
    command = [sys.executable, "-c", program + "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.communicate(b"\n")


def test_they_stay_while_another_process_reads_them(tmp_path: Path) -> None:
    place = Place("sqlite-file", None, tmp_path)
    with place.open() as database:
        _fill(database)
        _note(database, SnapshotState.VALIDATED)
    with _other_reader(tmp_path / "chainstate_snapshot" / "coins.sqlite"), place.open() as database:
        assert database.snapshot_record() is not None
        assert database.snapshot.open().count() == 5
    with place.open() as database:
        assert database.snapshot_record() is None
        assert database.coins.count() == 5


def test_a_wrong_snapshot_is_set_aside(durable_place: Place) -> None:
    with durable_place.open() as database:
        for _ in range(2):
            _fill(database)
            database.snapshot.set_aside()
            assert not database.snapshot.exists
        assert database.coins.count() == 3


def test_a_rebuild_forgets_the_snapshot(durable_place: Place) -> None:
    with durable_place.open() as database:
        _fill(database)
        _note(database, SnapshotState.UNVALIDATED)
        database.begin_rebuild(keep_blocks=True)
        assert database.snapshot_record() is None
