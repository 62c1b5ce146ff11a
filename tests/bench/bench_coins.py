"""Times the coin store alone, beside as many coins as a busy chain has.

    python tests/bench/bench_coins.py sqlite FOLDER
    python tests/bench/bench_coins.py postgresql+psycopg://127.0.0.1:5432/test?options=-csearch_path%3Dbench FOLDER

Owns: made-up coins, the measurements and their table. Never: a promise about another machine.
The first run fills the store (minutes); later ones find it filled, and every flush is taken back, so runs compare.
"""

import argparse
import hashlib
import random
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint
from clarion.node.storage.database import Database, open_database

TIP = BlockHash(bytes(32))


@dataclass(frozen=True)
class Regtest:
    """A network, as far as storage knows one."""

    name: str = "regtest"
    magic: bytes = b"\xfa\xbf\xb5\xda"


def outpoint(number: int) -> OutPoint:
    """Return the outpoint of made-up coin `number`; two coins come from one transaction."""
    return OutPoint(hashlib.sha256(b"%d" % (number >> 1)).digest() + (number & 1).to_bytes(4, "little"))


def coin(number: int) -> Coin:
    """Return a mature coin with a script of the usual 22 to 34 bytes."""
    return Coin(number, b"\x00\x14" + number.to_bytes(4, "little") * (5 + number % 4), 2)


def ensure_schema(url: str) -> None:
    """Create the schema that the URL's search path names."""
    parsed = make_url(url)
    schema = str(parsed.query.get("options", "")).partition("search_path=")[2]
    if schema:
        engine = create_engine(parsed.difference_update_query(["options"]))
        with engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        engine.dispose()


def fill(database: Database, count: int, step: int = 500_000) -> None:
    """Bring the number of coins to `count`."""
    for start in range(database.coins.count(), count, step):
        changes = {outpoint(n): coin(n) for n in range(start, min(start + step, count))}
        timed(f"fill {len(changes):,} behind {start:,}", partial(database.coins.flush, changes, TIP))


def timed(what: str, call: Callable[[], object]) -> float:
    """Run `call`, print its time and this process's CPU time, and return the first."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu, start = used.ru_utime + used.ru_stime, time.perf_counter()
    call()
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{what:<44}{seconds * 1000:>10.1f} ms {(used.ru_utime + used.ru_stime - cpu) * 1000:>10.1f} ms CPU", flush=True
    )
    return seconds


def measure(database: Database, count: int, rounds: int, largest: int) -> None:
    """Fetch and flush; the store is afterwards as it was."""
    pick = random.Random(time.time_ns())
    for _ in range(rounds):
        wanted = [outpoint(pick.randrange(count)) for _ in range(5_000)]
        timed("fetch 5,000", partial(database.coins.fetch, wanted))
    timed("fetch the same 5,000", partial(database.coins.fetch, wanted))
    half = [outpoint(pick.randrange(2 * count)) for _ in range(5_000)]
    timed("fetch 5,000, half of them unknown", partial(database.coins.fetch, half))
    timed("fetch 1", partial(database.coins.fetch, wanted[:1]))
    for size in (5_000, 100_000, 100_000, 1_000_000):
        if size > largest:
            continue
        spent = pick.sample(range(count), size // 2)
        made = range(count, count + size // 2)
        changes: dict[OutPoint, Coin | None] = {outpoint(n): None for n in spent}
        changes |= {outpoint(n): coin(n) for n in made}
        back: dict[OutPoint, Coin | None] = {outpoint(n): coin(n) for n in spent}
        back |= {outpoint(n): None for n in made}
        timed(f"flush {size:,} changes, half deleted", partial(database.coins.flush, changes, TIP))
        timed(f"flush {size:,} changes, taken back", partial(database.coins.flush, back, TIP))


def main() -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("database", help="sqlite, or the URL of a PostgreSQL database")
    parser.add_argument("folder", type=Path, help="where the store is kept")
    parser.add_argument("--coins", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--largest", type=int, default=1_000_000, help="changes in the largest flush")
    arguments = parser.parse_args()
    url = None if arguments.database == "sqlite" else arguments.database
    if url:
        ensure_schema(url)
    with open_database(url, arguments.folder, Regtest()) as database:
        fill(database, arguments.coins)
        measure(database, arguments.coins, arguments.rounds, arguments.largest)
        timed("close", database.close)


if __name__ == "__main__":
    main()
