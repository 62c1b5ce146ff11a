"""Databases for tests: a place of each kind, made for one test and gone after it."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.database import Database, open_database

KINDS = ("sqlite-memory", "sqlite-file", "postgresql")
DEFAULT_POSTGRES = "postgresql+psycopg://127.0.0.1:5432/test"


@dataclass(frozen=True)
class FakeNetwork:
    """A network, as far as storage knows one."""

    name: str = "regtest"
    magic: bytes = b"\xfa\xbf\xb5\xda"


@dataclass(frozen=True)
class Place:
    """Where a test's databases are: open as often as you like."""

    kind: str
    url: str | None
    chain_dir: Path
    network: FakeNetwork = FakeNetwork()

    def open(self, network: FakeNetwork | None = None) -> Database:
        """Open for writing."""
        return open_database(self.url, self.chain_dir, network or self.network)

    def reader(self, network: FakeNetwork | None = None) -> ChainReader:
        """Open for reading."""
        return ChainReader(self.url, self.chain_dir, network or self.network)


@cache
def postgres_url() -> URL | str:
    """Return the server's URL, or why there is none: CLARION_TEST_POSTGRES names another one than the default."""
    pytest.importorskip("psycopg")
    url = make_url(os.environ.get("CLARION_TEST_POSTGRES", DEFAULT_POSTGRES)).set(drivername="postgresql+psycopg")
    engine = create_engine(url, connect_args={"connect_timeout": 3})
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("SELECT 1")
    except SQLAlchemyError as error:
        return f"no PostgreSQL server answers: {str(error).splitlines()[0]}"
    finally:
        engine.dispose()
    return url


@contextmanager
def postgres_schema() -> Iterator[str]:
    """A schema of its own in the test server; yields the URL whose search path names it."""
    url = postgres_url()
    if isinstance(url, str):
        pytest.skip(url)
    schema = f"clarion_test_{secrets.token_hex(6)}"
    run_postgres(f"CREATE SCHEMA {schema}")
    try:
        yield url.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(hide_password=False)
    finally:
        for name in (schema, f"{schema}_snapshot", f"{schema}_snapshot_invalid"):
            run_postgres(f"DROP SCHEMA IF EXISTS {name} CASCADE")


def run_postgres(statement: str, url: str | None = None) -> None:
    """Run one statement on the test server."""
    engine = create_engine(url or postgres_url())
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


@contextmanager
def make_place(kind: str, chain_dir: Path) -> Iterator[Place]:
    """A place of the kind, skipping the test where no server answers."""
    if kind == "postgresql":
        with postgres_schema() as url:
            yield Place(kind, url, chain_dir)
    else:
        yield Place(kind, "sqlite://" if kind == "sqlite-memory" else None, chain_dir)
