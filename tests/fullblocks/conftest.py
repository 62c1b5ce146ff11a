"""Fixtures of the generated chains: one base chain for all, one shared world for blocks that must be refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.chain_builder import Built
from helpers.world import World, make_base_chain


@pytest.fixture(scope="session")
def base_chain() -> list[Built]:
    """Return the blocks that every world starts with."""
    return make_base_chain()


@pytest.fixture(scope="session")
def refusing_world(base_chain: list[Built], tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return a world that only gets blocks that it must refuse: its tip stays where it is."""
    world = World(tmp_path_factory.mktemp("refusing"), base_chain)
    yield world
    world.close()


@pytest.fixture
def world(base_chain: list[Built], tmp_path: Path) -> Iterator[World]:
    """Return a world of the test's own."""
    world = World(tmp_path, base_chain)
    yield world
    world.close()
