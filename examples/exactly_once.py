"""Keep the balance of some addresses in SQLite, exactly: no event counted twice, none missed, whatever is killed.

    python examples/exactly_once.py tcp://127.0.0.1:28340 balances.db ADDRESS [ADDRESS ...]

The node needs `-zmqreplay=tcp://127.0.0.1:28340`. The cursor is stored in the very transaction that changes the balances: after a
crash both are as they were, and the next start goes on from there. Ctrl-C ends it.
"""

import contextlib
import sqlite3
import sys
from typing import Any

from clarion.notifiers.client import events

TABLES = """
CREATE TABLE IF NOT EXISTS state (one INTEGER PRIMARY KEY CHECK (one = 1), cursor TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS balances (address TEXT PRIMARY KEY, sat INTEGER NOT NULL);
"""


def movements(event: dict[str, Any], addresses: set[str]) -> list[tuple[str, int]]:
    """Return (address, satoshis) that a transaction moves; turned round where it leaves the chain."""
    sign = 1 if event["type"] == "tx_confirmed" else -1
    made = [(each["address"], sign * each["value_sat"]) for each in event["outputs"]]
    spent = [(each["address"], -sign * each["value_sat"]) for each in event["spent"]]
    return [(address, sat) for address, sat in made + spent if address in addresses]


def main() -> None:
    """Follow the chain until Ctrl-C."""
    node, path, *addresses = sys.argv[1:]
    database = sqlite3.connect(path)
    database.executescript(TABLES)
    row = database.execute("SELECT cursor FROM state").fetchone()
    stream = events(
        node,
        start=row[0] if row else "start",
        types=["tx_confirmed", "tx_unconfirmed"],
        addresses=addresses,
        details=["outputs", "spent"],
    )
    for event in stream:
        with database:  # one transaction: the balances and the cursor, or neither
            for address, sat in movements(event, set(addresses)):
                database.execute(
                    "INSERT INTO balances VALUES (?, ?) ON CONFLICT (address) DO UPDATE SET sat = sat + excluded.sat",
                    (address, sat),
                )
            database.execute("INSERT OR REPLACE INTO state VALUES (1, ?)", (event["cursor"],))
        print(
            event["height"], event["type"], event["txid"], dict(database.execute("SELECT * FROM balances")), flush=True
        )


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
