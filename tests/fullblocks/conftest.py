"""Fixtures of the generated chains: one base chain for all, one shared world for blocks that must be refused."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers.chain_builder import Built
from helpers.oracle import AVAILABLE, Oracle
from helpers.world import World, make_base_chain


@pytest.fixture(scope="session")
def base_chain() -> list[Built]:
    """Return the blocks that every world starts with."""
    return make_base_chain()


@contextmanager
def make_world(folder: Path, base: Sequence[Built] = (), **how: Any) -> Iterator[World]:
    """Make a world; where Bitcoin Core's library is installed, it must agree with every verdict."""
    oracle = Oracle(folder / "oracle") if AVAILABLE else None
    world = World(folder, base, oracle=oracle, **how)
    try:
        yield world
    finally:
        world.close()
        if oracle is not None:
            oracle.close()


@pytest.fixture(scope="module")
def refusing_world(base_chain: list[Built], tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return a world that only gets blocks that it must refuse: its tip stays where it is."""
    with make_world(tmp_path_factory.mktemp("refusing"), base_chain) as world:
        yield world


@pytest.fixture
def world(base_chain: list[Built], tmp_path: Path) -> Iterator[World]:
    """Return a world of the test's own."""
    with make_world(tmp_path, base_chain) as world:
        yield world
