"""How an index follows the chain, whatever it stores."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.chain.indexes import runner as runner_module
from clarion.node.chain.indexes.index import IndexBatch, IndexedBlock
from clarion.node.chain.prune import Pruner
from clarion.node.errors import ConfigError
from helpers.chain_builder import genesis, make_chain
from helpers.chain_node import ChainNode
from helpers.index_runs import contents, open_indexes, running, wait_for_tip, wait_until

CHAIN = make_chain(genesis(), 8)
BRANCH = make_chain(CHAIN[3], 6, extra_nonce=7)


class Heights:
    """Stores every block's hash by its height, and how often one was connected or disconnected."""

    name = "heights"
    store_name = "heights"
    needs_spent = True

    def __init__(self, fail_at: int = -1) -> None:
        self.fail_at = fail_at
        self.calls: list[int] = []

    def connect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        if block.height == self.fail_at:
            raise ZeroDivisionError("no luck at this height")
        self.calls.append(block.height)
        key = block.height.to_bytes(4, "big")
        assert batch.get(key) is None
        if block.height:
            assert batch.get((block.height - 1).to_bytes(4, "big")) == block.block.header.prev_hash
        batch.put(key, block.block.hash)

    def disconnect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        self.calls.append(-block.height)
        key = block.height.to_bytes(4, "big")
        assert batch.get(key) == block.block.hash
        batch.delete(key)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ChainNode]:
    node = ChainNode(tmp_path)
    yield node
    node.close()


def chain_of(node: ChainNode) -> dict[bytes, bytes]:
    """Return what the index should hold."""
    entry, found = node.manager.tip, {}
    while entry is not None:
        found[entry.height.to_bytes(4, "big")] = entry.hash
        entry = entry.prev
    return found


def test_old_chain_is_indexed_and_new_blocks_follow(node: ChainNode) -> None:
    node.submit(*CHAIN[:5])
    index = Heights()
    with running(node, index) as indexes:
        wait_for_tip(node, indexes)
        node.submit(*CHAIN[5:])
        wait_for_tip(node, indexes)
        assert contents(node, "heights") == chain_of(node)
    assert index.calls == list(range(9))


def test_reorganisation_takes_blocks_back(node: ChainNode) -> None:
    index = Heights()
    with running(node, index) as indexes:
        node.submit(*CHAIN)
        wait_for_tip(node, indexes)
        node.submit(*BRANCH)
        wait_for_tip(node, indexes)
        assert contents(node, "heights") == chain_of(node)
    assert [call for call in index.calls if call < 0] == [-8, -7, -6, -5]


def test_blocks_that_were_only_disconnected_stay(node: ChainNode) -> None:
    index = Heights()
    with running(node, index) as indexes:
        node.submit(*CHAIN)
        wait_for_tip(node, indexes)
        entry = node.manager.lookup(CHAIN[6].hash)
        assert entry is not None
        node.manager.invalidate_block(entry)
        node.manager.commit()
        assert indexes.wait_synced("heights", node.manager.tip)
        assert indexes.states()["heights"] == (True, 8)
        node.submit(*make_chain(CHAIN[5], 1, extra_nonce=9))
        wait_for_tip(node, indexes)
        assert contents(node, "heights") == chain_of(node)
    assert index.calls[9:] == [-8, -7, 7]


def test_index_goes_on_where_it_was_after_a_reorganisation_without_it(node: ChainNode) -> None:
    with running(node, Heights()) as indexes:
        node.submit(*CHAIN)
        wait_for_tip(node, indexes)
    node.submit(*BRANCH)
    node.restart()
    index = Heights()
    with running(node, index) as indexes:
        wait_for_tip(node, indexes)
        assert contents(node, "heights") == chain_of(node)
    assert index.calls == [-8, -7, -6, -5, 5, 6, 7, 8, 9, 10]


def test_a_fault_stops_this_index_alone(node: ChainNode, caplog: pytest.LogCaptureFixture) -> None:
    class Others(Heights):
        name, store_name = "others", "others"

    with caplog.at_level(logging.ERROR), running(node, Heights(fail_at=3), Others()) as indexes:
        node.submit(*CHAIN)
        wait_until(lambda: indexes.states()["others"] == (True, 8) and "no luck" in caplog.text, indexes.states)
        assert not indexes.states()["heights"].synced
        assert not indexes.wait_synced("heights", node.manager.tip)
    assert "heights stops: no luck at this height" in caplog.text


def test_batches_are_committed_on_the_way(node: ChainNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "BATCH_BYTES", 400)
    node.submit(*CHAIN)
    with running(node, Heights(fail_at=6)) as indexes:
        wait_until(lambda: indexes.states()["heights"].height == 5, indexes.states)
    again = Heights()
    with running(node, again) as indexes:
        wait_for_tip(node, indexes)
    assert again.calls == [6, 7, 8]


def test_index_of_a_forgotten_chain_is_built_again(node: ChainNode) -> None:
    with running(node, Heights()) as indexes:
        node.submit(*CHAIN)
        wait_for_tip(node, indexes)
    node.close()
    node.open_database()
    node.database.begin_rebuild(keep_blocks=False)
    node.database.finish_wipe(node.undo_files)
    node.restart()
    with running(node, Heights()) as indexes:
        assert indexes.states()["heights"].height <= 0
        wait_for_tip(node, indexes)
        assert contents(node, "heights") == chain_of(node)


def test_pruning_waits_for_an_index(node: ChainNode, caplog: pytest.LogCaptureFixture) -> None:
    indexes = open_indexes(node, [Heights()])
    pruner = Pruner(node.manager.state, node.manager.journal, node.stores, 0, indexes=indexes)
    node.submit(*CHAIN)
    with caplog.at_level(logging.DEBUG, "clarion.node.chain.prune"):
        assert pruner.prune_by_hand(5) == 0
    assert "heights limited pruning to height 1" in caplog.text
    indexes.stop()


def test_pruning_waits_for_what_an_index_must_take_back(node: ChainNode) -> None:
    chain = make_chain(genesis(), 20)
    with running(node, Heights()) as indexes:
        node.submit(*chain)
        wait_for_tip(node, indexes)
        assert indexes.prune_limits() == {"heights": 9}
    indexes = open_indexes(node, [Heights()])
    node.submit(*make_chain(chain[14], 6, extra_nonce=5))
    # It stands at height 20 of a branch that was left at 15.
    assert indexes.states()["heights"].height == 20
    assert indexes.prune_limits() == {"heights": 4}
    indexes.stop()


def test_an_index_that_needs_pruned_blocks_does_not_start(node: ChainNode) -> None:
    node.submit(*CHAIN)
    indexes = open_indexes(node, [Heights()])
    indexes.check_blocks(node.manager)
    entry = node.manager.tip.ancestor(3)
    assert entry is not None
    entry.status &= ~24
    with pytest.raises(ConfigError, match="heights best block of the index goes beyond pruned data"):
        indexes.check_blocks(node.manager)
    indexes.stop()
