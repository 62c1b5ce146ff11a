"""Indexes over a chain manager, for tests: started by hand, waited for, read back.

Owns: the composition. Never: asserting.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from clarion.node.chain.indexes.index import Index
from clarion.node.chain.indexes.indexes import Indexes
from clarion.node.storage.index_store import IndexReader, IndexSnapshot
from clarion.node.storage.location import locate
from helpers.chain_node import ChainNode
from helpers.node_database import database_url

PATIENCE_S = 30


def open_indexes(node: ChainNode, indexes: Sequence[Index]) -> Indexes:
    """Return indexes that have found their place in the node's chain but do not follow it yet."""
    opened = Indexes(indexes, lambda name, kept: node.database.open_index(name, node.params, kept))
    opened.load(node.manager, node.stores)
    return opened


@contextmanager
def running(node: ChainNode, *indexes: Index) -> Iterator[Indexes]:
    """Indexes that follow the node's chain."""
    opened = open_indexes(node, indexes)
    opened.start()
    try:
        yield opened
    finally:
        opened.stop()


def wait_until(happened: Callable[[], bool], what: Callable[[], object]) -> None:
    """Wait until something happens, or raise TimeoutError with `what` there is instead."""
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"still: {what()}")
        time.sleep(0.01)


def wait_for_tip(node: ChainNode, indexes: Indexes) -> None:
    """Wait until every index has reached the tip."""
    wanted = (True, node.manager.tip.height)
    wait_until(lambda: all(state == wanted for state in indexes.states().values()), indexes.states)
    # After a reorganisation the height alone says nothing.
    assert all(indexes.wait_synced(name, node.manager.tip) for name in indexes.names)


@contextmanager
def index_view(node: ChainNode, store_name: str) -> Iterator[IndexSnapshot]:
    """An index as one read transaction sees it."""
    reader = IndexReader(locate(database_url(node.folder), node.folder), node.folder, store_name)
    try:
        with reader.snapshot() as view:
            yield view
    finally:
        reader.close()


def contents(node: ChainNode, store_name: str) -> dict[bytes, bytes]:
    """Return everything that an index holds."""
    with index_view(node, store_name) as view:
        return dict(view.items())
