"""A PostgreSQL server that goes away: calls take longer, nothing is lost, nothing is stored twice."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clarion.node.errors import StorageError
from clarion.node.storage.database import Database
from clarion.node.storage.rows import ChainCommit
from helpers.cutting_proxy import CuttingProxy
from helpers.databases import Place, make_place, run_postgres
from helpers.own_postgres import own_postgres
from helpers.rows import block_hash, block_row, chain_of, coin, connected, outpoint


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A PostgreSQL schema."""
    with make_place("postgresql", tmp_path) as found:
        yield found


@pytest.fixture
def proxy(place: Place) -> Iterator[CuttingProxy]:
    """A proxy before the schema's server."""
    assert place.url is not None
    with CuttingProxy(place.url) as found:
        yield found


def sessions(database: Database) -> list[int]:
    """Return the server's process ids of the two writers."""
    work = lambda connection: int(connection.exec_driver_sql("SELECT pg_backend_pid()").one()[0])  # noqa: E731
    return [database.chain._writer.read(work), database.coins._writer.read(work)]


def kill_sessions(database: Database) -> None:
    """End both writers' sessions."""
    for pid in sessions(database):
        run_postgres(f"SELECT pg_terminate_backend({pid})")


def next_block(height: int) -> ChainCommit:
    """Return a commit that connects one block."""
    return ChainCommit([block_row(height)], None, [(height, block_hash(height))], [connected(height)])


def heights(database: Database) -> list[int]:
    """Return the heights that the log tells of."""
    return [row.height for row in database.events.read(0, 10_000)]


def test_killed_sessions_are_replaced(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    with place.open() as database:
        database.chain.commit(chain_of(3))
        kill_sessions(database)
        assert database.chain.commit(next_block(3)) == 4
        database.coins.flush({outpoint(1): coin(1)}, block_hash(3))
        assert database.coins.fetch([outpoint(1)]) == {outpoint(1): coin(1)}
        assert heights(database) == [0, 1, 2, 3]
    told = [record.message for record in caplog.records if "works again" in record.message]
    assert len(told) == 2


@pytest.mark.parametrize("when", ["before", "after"])
def test_commit_that_is_cut_off_is_stored_once(place: Place, proxy: CuttingProxy, when: str) -> None:
    with Place(place.kind, proxy.url, place.chain_dir).open() as database:
        for height in range(3):
            proxy.cut_commit(when)
            assert database.chain.commit(next_block(height)) == height + 1
        assert proxy.cuts == 3
        assert heights(database) == [0, 1, 2]
        assert database.chain.load_active() == [block_hash(height) for height in range(3)]


@pytest.mark.parametrize("when", ["before", "after"])
def test_flush_that_is_cut_off_is_stored(place: Place, proxy: CuttingProxy, when: str) -> None:
    with Place(place.kind, proxy.url, place.chain_dir).open() as database:
        proxy.cut_commit(when)
        database.coins.flush({outpoint(n): coin(n) for n in range(100)}, block_hash(1))
        assert proxy.cuts == 1
        assert (database.coins.tip(), database.coins.count()) == (block_hash(1), 100)


def test_node_stops_if_another_has_written_meanwhile(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clarion.node.storage.writer._LOCK_WAIT_S", 0.5)
    with place.open() as database:
        database.chain.commit(chain_of(1))
        kill_sessions(database)
        with Place(place.kind, place.url, tmp_path / "other").open() as other:
            for change in (
                lambda: database.chain.commit(next_block(1)),
                lambda: database.coins.flush({}, block_hash(1)),
            ):
                with pytest.raises(StorageError, match="another node has taken the writer's lock"):
                    change()
            other.chain.commit(next_block(1))
        with pytest.raises(StorageError, match="another node has written to this database"):
            database.chain.commit(next_block(1))
        assert heights(database) == [0, 1]


def test_refused_node_does_not_disturb_the_first(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.node.storage.writer._LOCK_WAIT_S", 0.1)
    with place.open() as database:
        chain_session, _ = sessions(database)
        run_postgres(f"SELECT pg_terminate_backend({chain_session})")
        with pytest.raises(Exception, match="already running"):
            Place(place.kind, place.url, tmp_path / "other").open()
        assert database.chain.commit(chain_of(1)) == 1


def test_patience_ends_with_the_servers_error(place: Place, proxy: CuttingProxy) -> None:
    with Place(place.kind, proxy.url, place.chain_dir).open() as database:
        database.chain.commit(chain_of(2))
        proxy.refuse(True)
        threading.Timer(0.5, database.shorten_patience, (1.0,)).start()
        began = time.monotonic()
        with pytest.raises(StorageError, match="connection"):
            database.chain.commit(next_block(2))
        assert 0.9 < time.monotonic() - began < 5
        proxy.refuse(False)
        assert database.chain.commit(next_block(2)) == 3


def test_reader_connects_again(place: Place, proxy: CuttingProxy) -> None:
    with place.open() as database, Place(place.kind, proxy.url, place.chain_dir).reader() as reader:
        database.chain.commit(chain_of(2))
        for _ in range(2):
            with reader.snapshot() as view:
                assert view.height() == 1
            proxy.refuse(True)
            threading.Timer(0.3, proxy.refuse, (False,)).start()
        with reader.snapshot() as view:
            assert view.height() == 1


def test_reader_gives_up_while_clients_wait(place: Place, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.node.storage.engine.READER_PATIENCE._limit_s", 0.3)
    with place.open(), Place(place.kind, proxy.url, place.chain_dir).reader() as reader:
        proxy.refuse(True)
        with pytest.raises(StorageError, match="connection"), reader.snapshot() as view:
            view.height()


class Load:
    """Commits, flushes and fetches without end, on threads of their own."""

    def __init__(self, database: Database) -> None:
        self.told: list[int] = []
        self.faults: list[BaseException] = []
        self._database = database
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=(work,)) for work in (self._commit, self._flush)]

    def _repeat(self, work: Callable[[int], None]) -> None:
        try:
            for number in itertools.count():
                if self._stop.is_set():
                    return
                work(number)
        except BaseException as error:
            self.faults.append(error)

    def _commit(self, number: int) -> None:
        self.told.append(self._database.chain.commit(next_block(number)))

    def _flush(self, number: int) -> None:
        coins = {outpoint(n): coin(number) for n in range(500)}
        self._database.coins.flush(coins, block_hash(number))
        assert self._database.coins.fetch(list(coins)) == coins

    def wait_for(self, more: int) -> None:
        """Wait until `more` commits have been told."""
        target, deadline = len(self.told) + more, time.monotonic() + 30
        while len(self.told) < target and not self.faults and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(self.told) >= target or self.faults

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)


@pytest.mark.slow
def test_server_is_stopped_and_started(tmp_path: Path) -> None:
    """Everything goes on through an orderly stop and a crash of the server; what was told is what is stored."""
    with own_postgres() as server:
        place = Place("postgresql", server.url, tmp_path)
        with place.open() as database, place.reader() as reader:
            with Load(database) as load:
                for mode in ("fast", "immediate"):
                    load.wait_for(20)
                    server.stop(mode)
                    before = len(load.told)
                    time.sleep(0.5)
                    assert len(load.told) <= before + 1
                    server.start()
                    with reader.snapshot() as view:
                        assert view.height() >= before - 1
                load.wait_for(20)
            assert load.faults == []
            assert load.told == [height + 1 for height in heights(database)]
            assert len(database.chain.load_active()) == len(load.told)
