"""Rebuilding index and coins from the block files of the data directory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.chain.reindex import Reindexer
from clarion.node.chain.service import ChainService
from helpers.chain_builder import Built, genesis, make_block, make_chain
from helpers.chain_node import ChainNode

CHAIN = make_chain(genesis(), 30)
SIDE = make_chain(CHAIN[19], 5, extra_nonce=1)
BAD = make_block(CHAIN[-1], fees=1)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ChainNode]:
    """A node whose files hold a chain, a stale branch and a refused block."""
    node = ChainNode(tmp_path)
    node.submit(*CHAIN[:20], *SIDE, *CHAIN[20:], BAD)
    assert node.tip == CHAIN[-1].hash
    yield node
    node.close()


def begin(node: ChainNode, *, keep_blocks: bool) -> None:
    """Do what a start with -reindex or -reindex-chainstate does."""
    node.manager.journal.flush()
    node.database.begin_rebuild(keep_blocks=keep_blocks)
    node.database.finish_wipe(node.undo_files)
    node.restart()


def run(node: ChainNode, blocks: int = 10**9) -> bool:
    """Run the rebuild, at most until its thread has asked `blocks` times whether to go on."""
    left = iter(range(blocks))
    service = ChainService(node.manager, on_fatal=lambda error: None)
    service.start()
    try:
        return Reindexer(service, node.block_files, lambda: next(left, None) is None).run()
    finally:
        service.stop()


def facts(node: ChainNode) -> object:
    state = node.manager.state
    places = {entry.hash: (entry.data_position, entry.failed, entry.chain_tx_count) for entry in state.index}
    # Whether a stale block was ever connected depends on the order of arrival.
    statuses = [entry.status for height in range(31) if (entry := state.active.at(height))]
    return node.tip, places, statuses, dict(node.database.coins.iterate())


@pytest.mark.parametrize("keep_blocks", [False, True], ids=["reindex", "reindex-chainstate"])
def test_same_facts_and_a_new_log(node: ChainNode, keep_blocks: bool) -> None:
    node.manager.journal.flush()
    before, log = facts(node), node.database.log_id
    begin(node, keep_blocks=keep_blocks)
    assert node.manager.tip.height == 0
    assert run(node)
    assert facts(node) == before
    assert node.database.log_id != log
    assert node.database.events.log_id == node.database.log_id
    assert [row.height for row in node.rows() if row.kind == 1] == list(range(31))


@pytest.mark.parametrize("keep_blocks", [False, True], ids=["reindex", "reindex-chainstate"])
@pytest.mark.parametrize("blocks", [0, 1, 5, 20, 37, 45, 60])
def test_goes_on_after_a_crash(node: ChainNode, keep_blocks: bool, blocks: int) -> None:
    node.manager.journal.flush()
    before = facts(node)
    begin(node, keep_blocks=keep_blocks)
    run(node, blocks)
    node.restart()
    node.manager.set_importing(True)
    assert run(node)
    assert facts(node) == before


@pytest.mark.parametrize("finished", [False, True], ids=["before-coins", "after-coins"])
def test_wipe_is_finished_by_the_next_start(node: ChainNode, finished: bool) -> None:
    node.manager.journal.flush()
    before = facts(node)
    node.database.begin_rebuild(keep_blocks=False)
    if finished:
        node.database.coins.wipe()
    node.close()
    node.open_database()
    node.database.finish_wipe(node.undo_files)
    node.restart()
    assert run(node)
    assert facts(node) == before


def test_new_blocks_go_to_a_new_file(node: ChainNode) -> None:
    begin(node, keep_blocks=False)
    node.submit(CHAIN[0])
    assert node.manager.state.index[CHAIN[0].hash].file == 1
    assert run(node)
    assert node.tip == CHAIN[-1].hash


def test_blocks_appended_later_follow(node: ChainNode) -> None:
    begin(node, keep_blocks=False)
    assert run(node)
    more: list[Built] = make_chain(CHAIN[-1], 3, extra_nonce=2)
    node.submit(*more)
    node.restart()
    assert node.tip == more[-1].hash
