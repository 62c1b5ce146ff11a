"""What an operator may say of a block: invalid, to be reconsidered, precious."""

from pathlib import Path

from clarion.node.chain.block_index import BlockIndexEntry
from helpers.chain_builder import Built, genesis, make_chain
from helpers.chain_node import ChainNode


def _entry(node: ChainNode, built: Built) -> BlockIndexEntry:
    entry = node.manager.state.index.get(built.hash)
    assert entry is not None
    return entry


def test_invalidate_falls_back_and_only_disconnects(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    chain = make_chain(genesis(), 4)
    node.submit(*chain)
    seen = node.rows()[-1].seq
    node.manager.invalidate_block(_entry(node, chain[2]))
    assert node.tip == chain[1].hash
    assert node.story(chain, after=seen) == ["-3", "-2", "=1"]
    assert _entry(node, chain[3]).failed


def test_invalidate_moves_to_another_branch(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    chain = make_chain(genesis(), 3)
    rival = make_chain(chain[0], 1, extra_nonce=1)
    node.submit(*chain, *rival)
    node.manager.invalidate_block(_entry(node, chain[1]))
    assert node.tip == rival[0].hash


def test_a_block_on_an_invalidated_one_is_refused(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    chain = make_chain(genesis(), 4)
    node.submit(*chain[:3])
    node.manager.invalidate_block(_entry(node, chain[1]))
    assert node.reasons(chain[3]) == ["bad-prevblk"]
    assert node.reasons(chain[2]) == ["duplicate-invalid"]


def test_reconsider_brings_the_branch_back(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    chain = make_chain(genesis(), 4)
    node.submit(*chain)
    node.manager.invalidate_block(_entry(node, chain[1]))
    seen = node.rows()[-1].seq
    node.manager.reconsider_block(_entry(node, chain[3]))
    node.manager.commit()
    assert node.tip == chain[3].hash
    assert node.story(chain, after=seen) == ["+1", "=1", "+2", "=2", "+3", "=3"]


def test_a_verdict_survives_a_restart(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    chain = make_chain(genesis(), 3)
    node.submit(*chain)
    node.manager.invalidate_block(_entry(node, chain[1]))
    node.manager.commit()
    node.restart()
    assert node.tip == chain[0].hash
    assert _entry(node, chain[2]).failed


def test_precious_prefers_the_later_of_two_equal_tips(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    first = make_chain(genesis(), 2)
    second = make_chain(first[0], 1, extra_nonce=1)
    node.submit(*first, *second)
    node.manager.precious_block(_entry(node, second[0]))
    assert node.tip == second[0].hash
    node.manager.precious_block(_entry(node, first[1]))
    assert node.tip == first[1].hash


def test_precious_does_nothing_for_a_block_with_less_work(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    first = make_chain(genesis(), 3)
    second = make_chain(first[0], 1, extra_nonce=1)
    node.submit(*first, *second)
    node.manager.precious_block(_entry(node, second[0]))
    assert node.tip == first[2].hash


def test_a_verdict_on_genesis_changes_nothing(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    chain = make_chain(genesis(), 2)
    node.submit(*chain)
    node.manager.invalidate_block(_entry(node, genesis()))
    assert node.tip == chain[1].hash
    assert not _entry(node, genesis()).failed
