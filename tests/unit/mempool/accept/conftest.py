"""The chain and the pools that transactions are offered to."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from clarion.node.mempool.options import MempoolOptions
from helpers.accepting import Accepting, build_chain
from helpers.chain_builder import Built
from helpers.chain_node import OPEN, ChainNode


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ChainNode, Sequence[Built]]]:
    """Return a chain that no test changes."""
    node, blocks = build_chain(tmp_path_factory.mktemp("accepting"))
    OPEN.discard(node)
    yield node, blocks
    node.close()


@pytest.fixture
def world(chain: tuple[ChainNode, Sequence[Built]]) -> Accepting:
    """Return an empty pool on the chain."""
    return Accepting(*chain)


@pytest.fixture
def make_world(chain: tuple[ChainNode, Sequence[Built]]) -> Callable[[MempoolOptions], Accepting]:
    """Return a maker of empty pools with options of their own."""
    return lambda options: Accepting(*chain, options)
