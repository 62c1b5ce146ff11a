"""What indexes cost: building each for the whole chain file, and looking scripts up.

Owns: one loaded chain a database, on which each index is built from nothing; the tables. Never: the chain's own cost.
"""

import http.client
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path

from sqlalchemy import create_engine, make_url

from bench.bench_load import databases
from bench.chain_file import read_blocks
from bench.chain_run import ChainRun, headers_with_more_behind, open_chain
from bench.report import Report, load_average
from clarion.node.chain.indexes.index import Index
from clarion.node.chain.indexes.indexes import Indexes
from clarion.node.primitives.block import Block
from clarion.node.storage.index_store import IndexReader
from clarion.node.storage.location import locate
from clarion.plugins.bundled.blockfilterindex import BasicFilterIndex
from clarion.plugins.bundled.coinstatsindex import CoinStatsIndex
from clarion.plugins.bundled.scriptindex import reading, records
from clarion.plugins.bundled.scriptindex.index import ScriptIndex
from clarion.plugins.bundled.txindex import TxIndex
from clarion.plugins.bundled.txospenderindex import TxoSpenderIndex
from helpers.databases import postgres_schema
from helpers.node import Node

INDEXES: Sequence[tuple[str, Callable[[], Index]]] = (
    ("-txindex", TxIndex),
    ("-txospenderindex", TxoSpenderIndex),
    ("-blockfilterindex", BasicFilterIndex),
    ("-coinstatsindex", CoinStatsIndex),
    ("-scriptindex", ScriptIndex),
)
LOOK_UPS = 2_000
_PATIENCE_S = 600


def run_indexes(report: Report, path: Path, what: str, work: Path) -> None:
    """Measure both on each database."""
    kinds, missing = databases()
    report.section("Indexes: building each for the chain file")
    report.text(
        f"{what}, loaded before; one index at a time, from nothing to the tip, in the background as a node builds it. "
        f"CPU is this process's, without PostgreSQL's server. Load average before: {load_average()}."
    )
    if missing:
        report.text(f"PostgreSQL was not measured: {missing}.")
    raws = read_blocks(path)
    built: list[list[object]] = [[option] for option, _ in INDEXES]
    looked_up: list[list[object]] = []
    for kind in kinds:
        with loaded(raws, work / "indexes", kind) as (run, url):
            for row, (_, make) in zip(built, INDEXES, strict=True):
                row += build(run, make(), work / "indexes", url)
            looked_up += [[f"{kind}, {name}", *found] for name, found in look_up(raws, work / "indexes", url)]
    head = ["option"]
    for kind in kinds:
        head += [f"{kind}, s", "CPU, s", "blocks/s", "entries", "MiB"]
    report.table(head, built)
    report.section("Looking scripts up")
    report.text(
        f"{LOOK_UPS:,} look-ups of scripts of the chain file, each the script of an output taken at random, in one thread: "
        "from the database alone (a read transaction each), and as one client of `-apiworkers=1` on a kept connection, "
        "which asks the node for the mempool's part too."
    )
    report.table(["", "look-ups/s", "median, ms", "99 %, ms"], [*looked_up, *over_http(path, raws, work)])


@contextmanager
def loaded(raws: Sequence[bytes], folder: Path, kind: str) -> Iterator[tuple[ChainRun, str | None]]:
    """The chain in a fresh data directory, with the URL of its database."""
    shutil.rmtree(folder, ignore_errors=True)
    with ExitStack() as stack:
        url = stack.enter_context(postgres_schema()) if kind == "PostgreSQL" else None
        headers = headers_with_more_behind(raws)
        run = open_chain(folder, stack, url=url, assume_valid=headers[-1].hash)
        run.service.submit(run.manager.process_new_headers, headers).result()
        run.import_all(raws)
        yield run, url
    shutil.rmtree(folder, ignore_errors=True)


def build(run: ChainRun, index: Index, folder: Path, url: str | None) -> list[object]:
    """Build an index, and return seconds, CPU seconds, blocks a second, entries, MiB."""
    indexes = Indexes([index], lambda name, kept: run.database.open_index(name, run.params, kept))
    indexes.load(run.manager, run.stores)
    height = run.manager.tip.height
    started, cpu = time.perf_counter(), time.process_time()
    indexes.start()
    while not indexes.states()[index.name].synced:
        assert time.perf_counter() - started < _PATIENCE_S, indexes.states()
        time.sleep(0.005)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    indexes.stop()
    entries, size = _size(folder, url, index.store_name)
    return [seconds, cpu, (height + 1) / seconds, entries, size / 2**20]


def _size(folder: Path, url: str | None, name: str) -> tuple[int, int]:
    if url is None:
        reader = IndexReader(locate(None, folder), folder, name)
        with reader.snapshot() as view:
            entries = sum(1 for _ in view.items())
        reader.close()
        return entries, sum(path.stat().st_size for path in (folder / "indexes").glob(f"{name}.sqlite*"))
    engine = create_engine(make_url(url))
    with engine.connect() as connection:
        (entries,) = connection.exec_driver_sql(f"SELECT count(*) FROM index_{name}").one()
        (size,) = connection.exec_driver_sql(f"SELECT pg_total_relation_size('index_{name}')").one()
    engine.dispose()
    return int(entries), int(size)


def _picked(raws: Sequence[bytes]) -> list[bytes]:
    rng = random.Random(1)
    blocks = [Block.parse(raw) for raw in rng.sample(raws, min(len(raws), 60))]
    outputs = [output for block in blocks for tx in block.txs for output in tx.outputs]
    return [sha256(rng.choice(outputs).script_pubkey).digest() for _ in range(LOOK_UPS)]


def look_up(raws: Sequence[bytes], folder: Path, url: str | None) -> Iterator[tuple[str, list[object]]]:
    """Yield what is looked up, and look-ups a second with their times."""
    reader = IndexReader(locate(url, folder), folder, records.STORE_NAME)

    def asked(answer: Callable[[reading.ScriptView], object]) -> Callable[[bytes], object]:
        def ask(script_hash: bytes) -> object:
            with reader.snapshot() as view:
                tip = view.tip()
                assert tip is not None
                account = records.find_account(view, script_hash)
                return answer(reading.ScriptView(script_hash, view, tip, account, None))

        return ask

    scripts = _picked(raws)
    yield "balance", _timed(asked(reading.balance), scripts)
    yield "history, 100 entries", _timed(asked(lambda script: reading.history(script, None, 100)), scripts)
    yield "unspent outputs, 100", _timed(asked(lambda script: reading.utxos(script, None, 100)), scripts)
    yield "status", _timed(asked(reading.status), scripts[: LOOK_UPS // 10])
    reader.close()


def over_http(path: Path, raws: Sequence[bytes], work: Path) -> Iterator[list[object]]:
    """Yield rows of what a client of the node sees."""
    folder = work / "indexes-node"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    height = len(raws)
    with Node(folder, f"-loadblock={path}", "-scriptindex", "-par=2", "-apiworkers=1", "-maxtipage=9999999999") as node:
        while node.rpc("getindexinfo")["scriptindex"] != {"synced": True, "best_block_height": height}:
            time.sleep(0.1)
        connection = http.client.HTTPConnection("127.0.0.1", node.rpc_port)
        headers = {"Authorization": node.authorization()}
        for what in ("balance", "history", "utxos"):

            def ask(script_hash: bytes, what: str = what) -> None:
                connection.request("GET", f"/v1/scripts/{script_hash[::-1].hex()}/{what}", headers=headers)
                answer = connection.getresponse()
                body = answer.read()
                assert answer.status == 200, body

            yield [f"SQLite, over HTTP: {what}", *_timed(ask, _picked(raws))]
        connection.close()
    shutil.rmtree(folder, ignore_errors=True)


def _timed(ask: Callable[[bytes], object], scripts: Sequence[bytes]) -> list[object]:
    for each in scripts[:20]:
        ask(each)
    times = []
    for each in scripts:
        started = time.perf_counter()
        ask(each)
        times.append((time.perf_counter() - started) * 1000)
    total = sum(times)
    times.sort()
    return [len(times) / total * 1000, times[len(times) // 2], times[len(times) * 99 // 100]]
