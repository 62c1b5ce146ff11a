"""The statistics of the last blocks, which a thread behind the tip stores."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clarion.node.chain import statistics
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.block_statistics import STORE_NAME, block_stats, decode_stats, encode_stats
from clarion.node.chain.indexes.recent import RecentDeltas
from clarion.node.chain.statistics import StatisticsKeeper
from clarion.node.errors import StorageError
from helpers.chain_builder import genesis, make_chain
from helpers.chain_node import ChainNode
from helpers.index_runs import contents, wait_until

CHAIN = make_chain(genesis(), 8)
BRANCH = make_chain(CHAIN[3], 6, extra_nonce=7)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChainNode]:
    monkeypatch.setattr(statistics, "REST_S", 0.01)
    monkeypatch.setattr(statistics, "PAUSE_S", 0.01)
    monkeypatch.setattr(statistics, "DOWNLOAD_REST_S", 0.02)
    node = ChainNode(tmp_path)
    yield node
    node.close()


@contextmanager
def keeping(node: ChainNode, recent: RecentDeltas | None = None) -> Iterator[StatisticsKeeper]:
    """A keeper that follows the node's chain."""
    keeper = StatisticsKeeper(node.database.open_index(STORE_NAME, node.params))
    keeper.start(node.manager, node.stores, recent or RecentDeltas(0))
    try:
        yield keeper
    finally:
        keeper.stop()


def active(node: ChainNode) -> list[BlockIndexEntry]:
    """Return the active chain from the tip on."""
    entry: BlockIndexEntry | None = node.manager.tip
    found = []
    while entry is not None:
        found.append(entry)
        entry = entry.prev
    return found


def wait_for(node: ChainNode, count: int) -> dict[bytes, bytes]:
    """Wait until the statistics of so many blocks are stored, and return them."""
    wait_until(lambda: len(contents(node, STORE_NAME)) == count, lambda: len(contents(node, STORE_NAME)))
    return contents(node, STORE_NAME)


def test_blocks_from_before_and_new_ones_are_stored(node: ChainNode) -> None:
    node.submit(*CHAIN[:5])
    with keeping(node):
        wait_for(node, 6)
        node.submit(*CHAIN[5:])
        stored = wait_for(node, 9)
    assert set(stored) == {entry.hash for entry in active(node)}


def test_a_reorganisation_adds_the_other_branch_and_changes_nothing(node: ChainNode) -> None:
    with keeping(node):
        node.submit(*CHAIN)
        before = wait_for(node, 9)
        node.submit(*BRANCH)
        after = wait_for(node, 15)
    assert {entry.hash for entry in active(node)} <= set(after)
    assert {key: after[key] for key in before} == before


def test_only_the_last_blocks_are_counted(node: ChainNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "DEPTH", 3)
    node.submit(*CHAIN)
    with keeping(node):
        assert set(wait_for(node, 3)) == {entry.hash for entry in active(node)[:3]}


def test_pruned_blocks_are_left_out(node: ChainNode) -> None:
    node.submit(*CHAIN)
    for entry in active(node)[2:4]:
        entry.status &= ~statistics._WANTED
    with keeping(node):
        stored = wait_for(node, 7)
    assert not set(stored) & {entry.hash for entry in active(node)[2:4]}


def test_counted_from_memory_as_from_the_files(node: ChainNode) -> None:
    recent = RecentDeltas(100)
    node.manager.state.on_settled = recent.add
    node.submit(*CHAIN)
    with keeping(node, recent):
        from_memory = wait_for(node, 9)
    node.submit(*BRANCH)
    again = StatisticsKeeper(node.database.open_index("others", node.params))
    again.start(node.manager, node.stores, RecentDeltas(0))
    wait_until(lambda: len(contents(node, "others")) == 11, lambda: contents(node, "others"))
    again.stop()
    shared = set(from_memory) & set(contents(node, "others"))
    assert len(shared) == 5
    assert all(from_memory[key] == contents(node, "others")[key] for key in shared)


def test_a_fault_of_the_database_ends_the_keeping_alone(
    node: ChainNode, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("disk is full")

    with caplog.at_level(logging.WARNING), keeping(node) as keeper:
        wait_for(node, 1)
        monkeypatch.setattr(keeper._store, "commit", fail)
        node.submit(*CHAIN)
        wait_until(lambda: "disk is full" in caplog.text, lambda: caplog.text)
    assert node.manager.tip.height == 8


def test_stored_form_gives_back_every_number() -> None:
    block = CHAIN[3].block
    assert block is not None
    stats = block_stats(block, [], 4)
    assert decode_stats(encode_stats(stats)) == stats
    assert list(decode_stats(encode_stats(stats | {"minfee": -5}))["feerate_percentiles"]) == [0] * 5
    assert decode_stats(encode_stats(stats | {"minfee": -5, "total_out": 21 * 10**14}))["total_out"] == 21 * 10**14
