"""What a store refuses to be opened as, and by whom, on every database."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clarion.node.errors import ConfigError
from clarion.node.primitives.ids import outpoint_index
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.database import Database
from clarion.node.storage.engine import writer_engine
from clarion.node.storage.location import locate
from helpers.databases import FakeNetwork, Place, make_place, run_postgres
from helpers.rows import block_hash, chain_of, outpoint

WRITER = Path(__file__).parents[1] / "helpers" / "killed_writer.py"


def change(place: Place, component: str, statement: str) -> None:
    """Run a statement on a database that no node has open."""
    engine = writer_engine(locate(place.url, place.chain_dir), component)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.fixture
def kept(durable_place: Place) -> Place:
    """A place whose databases exist, closed."""
    durable_place.open().close()
    return durable_place


def test_second_node_is_refused_until_the_first_is_gone(
    durable_place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On PostgreSQL the second node has a data directory of its own: the server must refuse it.
    place = durable_place
    second = Place(place.kind, place.url, tmp_path / "other" if place.url else place.chain_dir)
    monkeypatch.setattr("clarion.node.storage.writer._LOCK_WAIT_S", 0.2)
    with place.open(), pytest.raises(ConfigError, match="Clarion is probably already running"):
        second.open()
    second.open().close()


def test_other_network_is_refused_by_name(kept: Place) -> None:
    with pytest.raises(ConfigError, match="network regtest, not of main"):
        kept.open(FakeNetwork("main"))
    with pytest.raises(ConfigError, match="network regtest, not of main"):
        kept.reader(FakeNetwork("main"))


def test_other_signet_is_refused(kept: Place) -> None:
    with pytest.raises(ConfigError, match=r"another regtest \(magic fabfb5da, not 00010203\)"):
        kept.open(FakeNetwork(magic=bytes(range(4))))


@pytest.mark.parametrize("component", ["chain", "coins"])
def test_newer_store_is_refused(kept: Place, component: str) -> None:
    change(kept, component, f"UPDATE clarion_{component}_version SET version_num = '9999'")
    for opener in (kept.open, kept.reader):
        with pytest.raises(ConfigError, match=r"newer Clarion \(schema version 9999"):
            opener()


def test_other_program_is_refused(kept: Place) -> None:
    change(kept, "chain", "DROP TABLE clarion_chain_version")
    with pytest.raises(ConfigError, match="another program: active_chain, blocks, event_log, meta"):
        kept.open()
    with pytest.raises(ConfigError, match="not Clarion's"):
        kept.reader()


def test_who_reads_an_empty_database_is_told_so(durable_place: Place) -> None:
    (durable_place.chain_dir / "chainstate").mkdir(exist_ok=True)
    change(durable_place, "chain", "SELECT 1")
    with pytest.raises(ConfigError, match="is empty: there is no chain in it"):
        durable_place.reader()


def test_coins_of_another_chain_are_refused(kept: Place) -> None:
    change(kept, "coins", "DELETE FROM coins_meta WHERE key = 'store_id'")
    with pytest.raises(ConfigError, match="belongs to another chain database"):
        kept.open()


def test_failed_opening_gives_the_lock_back(kept: Place) -> None:
    with pytest.raises(ConfigError):
        kept.open(FakeNetwork("main"))
    kept.open().close()


@pytest.mark.parametrize("target", ["chain", "coins"])
def test_kill_inside_a_transaction_leaves_nothing_of_it(kept: Place, target: str) -> None:
    """The writer commits once, begins a second transaction, writes half of it, and is killed."""
    arguments = [sys.executable, str(WRITER), target, kept.url or "", str(kept.chain_dir)]
    env = {**os.environ, "PYTHONPATH": str(WRITER.parents[1])}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half-way\n"
        process.send_signal(signal.SIGKILL)
    with kept.open() as database:
        assert database.chain.load_active() == [block_hash(height) for height in range(3)]
        assert database.chain.last_seq == len(database.events.read(0, 100)) == 3
        assert (database.coins.tip(), database.coins.count()) == (block_hash(2), 50)
        assert outpoint(0) in database.coins.fetch([outpoint(0)])
        assert database.chain.commit(chain_of(0)) == 3


@pytest.mark.parametrize("after_s", [0.3, 0.55, 0.8], ids=lambda seconds: f"after-{seconds}-s")
def test_kill_inside_a_flush_leaves_one_state(kept: Place, after_s: float) -> None:
    """Coins and tip are those of the same flush, whenever the process is killed."""
    arguments = [sys.executable, str(WRITER), "flushes", kept.url or "", str(kept.chain_dir)]
    env = {**os.environ, "PYTHONPATH": str(WRITER.parents[1])}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half-way\n"
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
    with kept.open() as database:
        numbers = {stored.value - 1_000 for key, stored in database.coins.iterate() if not outpoint_index(key)}
        if database.coins.tip() == block_hash(2):
            return
        (number,) = numbers
        assert database.coins.tip() == block_hash(number)
        assert database.coins.count() == 22_000
        assert len(database.coins.fetch([outpoint(n, number) for n in range(2_000)])) == 2_000


def test_postgres_schema_of_other_tables_is_shared_in_peace(tmp_path: Path) -> None:
    with make_place("postgresql", tmp_path) as place:
        run_postgres("CREATE TABLE invoices (id int)", place.url)
        place.open().close()


def test_readers_keep_working_while_the_writer_opens_again(kept: Place) -> None:
    def tip(reader: ChainReader) -> object:
        with reader.snapshot() as view:
            return view.height()

    def commit(database: Database) -> None:
        database.chain.commit(chain_of(2))

    with kept.reader() as reader:
        assert tip(reader) == -1
        with kept.open() as database:
            commit(database)
        assert tip(reader) == 1
