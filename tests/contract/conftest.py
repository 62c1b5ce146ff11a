"""One suite of store tests, run on every kind of database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.database import Database
from helpers.databases import KINDS, Place, make_place


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty place for databases."""
    with make_place(request.param, tmp_path) as found:
        yield found


@pytest.fixture(params=KINDS[1:])
def durable_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty place for databases that outlive their closing and whose readers never wait: not in memory."""
    with make_place(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def database(place: Place) -> Iterator[Database]:
    """A new, open database."""
    with place.open() as opened:
        yield opened


@pytest.fixture
def reader(place: Place, database: Database) -> Iterator[ChainReader]:
    """A reader beside the writer."""
    with place.reader() as opened:
        yield opened
