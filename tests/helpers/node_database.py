"""The database that nodes under test use: SQLite, or the server that CLARION_TEST_DATABASE names.

Owns: a schema for each data directory and chain, made at first use and dropped when the tests end. Never: a node.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

VARIABLE = "CLARION_TEST_DATABASE"
CHAINS = ("main", "test", "testnet4", "signet", "regtest")

_made: set[str] = set()


def on_server() -> bool:
    """Whether nodes under test use a server."""
    return bool(os.environ.get(VARIABLE))


def database_url(folder: Path, chain: str = "regtest") -> str | None:
    """Return the URL for a data directory's chain, None for SQLite in that directory. The same again after a restart."""
    if not on_server():
        return None
    name = hashlib.sha256(f"{os.path.abspath(folder)} {chain}".encode()).hexdigest()[:16]
    schema = f"clarion_node_{name}"
    if schema not in _made:
        _run(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        _made.add(schema)
    url = make_url(os.environ[VARIABLE]).set(drivername="postgresql+psycopg")
    return url.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(hide_password=False)


def with_database(arguments: Sequence[str]) -> list[str]:
    """Return a command line of `clarion` with the database of its data directory, unless it names one itself."""
    found = list(arguments)
    if not on_server() or any(argument.startswith("-database=") for argument in found):
        return found
    chain = "main"
    for argument in found:
        name = argument.lstrip("-").removeprefix("chain=")
        chain = name if argument.startswith("-") and name in CHAINS else chain
    for position, argument in enumerate(found):
        if argument.startswith("-datadir="):
            url = database_url(Path(argument.removeprefix("-datadir=")), chain)
            found.insert(position + 1, f"-database={url}")
            break
    return found


def drop_schemas() -> None:
    """Drop what `database_url` made."""
    for schema in _made:
        _run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    _made.clear()


def _run(statement: str) -> None:
    engine = create_engine(make_url(os.environ[VARIABLE]).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.exec_driver_sql("SET lock_timeout = '20s'")
        connection.exec_driver_sql(statement)
    engine.dispose()
