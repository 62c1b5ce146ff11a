"""A process that is killed while it writes: `killed_writer.py chain|coins|flushes URL CHAIN_DIR`."""

import itertools
import sys
import time
from pathlib import Path

from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint
from clarion.node.storage.database import Database, open_database
from clarion.node.storage.rows import ChainCommit
from helpers.databases import FakeNetwork
from helpers.rows import block_hash, block_row, chain_of, coin, connected, outpoint


def stay() -> None:
    """Say that the transaction is half-way, and wait for the end."""
    print("half-way", flush=True)
    time.sleep(60)


def flush_for_ever(database: Database) -> None:
    """Give 20,000 coins a new value, and delete and make others, again and again."""
    kept = [outpoint(n) for n in range(20_000)]
    print("half-way", flush=True)
    for number in itertools.count(3):
        changes: dict[OutPoint, Coin | None] = {key: coin(number) for key in kept}
        for n in range(2_000):
            changes[outpoint(n, number - 1)] = None
            changes[outpoint(n, number)] = coin(number)
        database.coins.flush(changes, block_hash(number))


def main() -> None:
    """Commit once, then hang inside the second transaction, or go on flushing."""
    target, url, chain_dir = sys.argv[1:4]
    database = open_database(url or None, Path(chain_dir), FakeNetwork())
    database.chain.commit(chain_of(3))
    database.coins.flush({outpoint(n): coin(n) for n in range(50)}, block_hash(2))
    if target == "flushes":
        flush_for_ever(database)
    elif target == "chain":
        change = ChainCommit([block_row(3)], 0, [(1, block_hash(3))], [connected(3)])
        with database.chain._writer.transaction() as connection:
            database.chain._apply(connection, change)
            stay()
    else:
        with database.coins._writer.transaction() as connection:
            database.coins._sql.set_tip(connection, block_hash(3))
            connection.exec_driver_sql("DELETE FROM coins")
            stay()


if __name__ == "__main__":
    main()
