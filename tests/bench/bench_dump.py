"""Dumping all coins to a file and loading them from it, as many as a busy chain has.

Owns: filled tables of both databases, the table of results. Never: the node, which has no part in it but the flush.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from bench.bench_coins import TIP, coin, fill, outpoint
from bench.bench_load import databases
from bench.coins_table import filled_folder
from bench.report import Report, load_average
from clarion.node.chain.snapshot.loading import ROWS_AT_ONCE, hash_coins
from clarion.node.params.chain_params import select_params
from clarion.node.storage.coin_changes import CoinChanges
from clarion.node.storage.coin_sql import CoinRow
from clarion.node.storage.database import Database, open_database
from clarion.node.storage.utxo_snapshot import write_snapshot
from clarion.node.storage.utxo_snapshot_reader import SnapshotCoins, read_head
from helpers.databases import postgres_schema

CHANGED = 100_000
"""What twenty full blocks have made, and as many that they have spent."""

HIGHEST = 2**31
"""No made-up coin is younger."""


def run_dump(report: Report, work: Path, count: int, rounds: int) -> None:
    """Measure coins a second on each database."""
    kinds, missing = databases()
    report.section(f"Dumping and loading {count:,} coins (dumptxoutset, loadtxoutset)")
    report.text(
        "One walk over the table, with `hash_serialized_3` and the file, without its sync; best of "
        f"{rounds}. For an earlier block {CHANGED:,} coins are taken away and as many put back, in a file beside the dump. "
        "Loading is decoding and writing into an empty table, then one walk over it for the hash. "
        f"Load average before: {load_average()}."
    )
    if missing:
        report.text(f"PostgreSQL was not measured: {missing}.")
    rows: list[list[object]] = []
    for kind in kinds:
        with filled(work, kind, count) as database:
            for what, earlier in (("as they are", False), ("at an earlier block", True)):
                seconds = min(_dump(database, work, count, earlier=earlier) for _ in range(rounds))
                size = (work / "dump").stat().st_size
                rows.append([f"{kind}, {what}", seconds, count / seconds, size / 2**20, size / count])
            loaded = min(_load(database, work, count) for _ in range(rounds))
            rows.append([f"{kind}, loaded", loaded, count / loaded, size / 2**20, size / count])
    (work / "dump").unlink()
    report.table(["", "s", "coins/s", "file, MiB", "bytes a coin"], rows)


@contextmanager
def filled(work: Path, kind: str, count: int) -> Iterator[Database]:
    """A database with so many made-up coins."""
    with ExitStack() as stack:
        if kind == "SQLite":
            url, folder = None, filled_folder(work, count)
        else:
            url, folder = stack.enter_context(postgres_schema()), work / "coins-postgresql"
        folder.mkdir(exist_ok=True)
        with open_database(url, folder, select_params("regtest")) as database:
            fill(database, count)
            yield database


def _dump(database: Database, work: Path, count: int, *, earlier: bool) -> float:
    started = time.perf_counter()
    with ExitStack() as stack:
        view = stack.enter_context(database.coins.snapshot())
        file = stack.enter_context((work / "dump").open("wb"))

        def rows() -> Iterator[CoinRow]:
            if not earlier:
                return view.rows()
            changes = stack.enter_context(CoinChanges(work / "dump-changes"))
            made = [outpoint(number) for number in range(CHANGED)]
            changes.apply(made, {outpoint(count + number): coin(number) for number in range(CHANGED)})
            return changes.over(view.rows())

        written = write_snapshot(file, select_params("regtest").magic, TIP, rows())
        file.flush()
    assert written.coins == count
    return time.perf_counter() - started


def _load(database: Database, work: Path, count: int) -> float:
    started = time.perf_counter()
    with (work / "dump").open("rb") as file:
        head = read_head(file, select_params("regtest").magic)
        store = database.snapshot.create()
        coins = SnapshotCoins(file, head.coins, HIGHEST).rows()
        while part := list(islice(coins, ROWS_AT_ONCE)):
            store.load(part)
    store.end_load(head.base)
    hash_coins(store, lambda: False)
    seconds = time.perf_counter() - started
    assert store.count() == count
    database.snapshot.remove()
    return seconds
