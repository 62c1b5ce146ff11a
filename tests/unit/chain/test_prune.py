"""Which files are pruned, and in which order things are forgotten and deleted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.chain.prune import BLOCKFILE_CHUNK_BYTES, UNDOFILE_CHUNK_BYTES, Pruner, has_pruned
from helpers.chain_builder import genesis, make_chain
from helpers.chain_node import ChainNode

CHAIN = make_chain(genesis(), 500)
FILE_BYTES = 8_000
ROOM = BLOCKFILE_CHUNK_BYTES + UNDOFILE_CHUNK_BYTES


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ChainNode]:
    node = ChainNode(tmp_path)
    object.__setattr__(node.params, "prune_after_height", 100)
    node.block_files._max_file_size = FILE_BYTES
    for built in CHAIN:
        assert built.block is not None
        node.manager.process_new_block(built.block)
    node.manager.commit()
    yield node
    node.close()


def pruner(node: ChainNode, target: int = 0, *, told: bool = True) -> Pruner:
    return Pruner(node.manager.state, node.manager.journal, node.stores, target, lambda timeout_s: told)


def last_pruned(node: ChainNode) -> int:
    return max((entry.height for entry in node.manager.state.index if not entry.has_data), default=-1)


def test_by_hand_whole_files_at_or_below_the_height(node: ChainNode) -> None:
    assert pruner(node).prune_by_hand(120) == 2
    assert node.block_files.numbers()[0] == 2
    lowest = min(entry.height for entry in node.manager.state.index if entry.file == 2)
    assert last_pruned(node) == lowest - 1 <= 120
    assert pruner(node).prune_height(node.manager.tip) == last_pruned(node)


def test_never_within_288_blocks_of_the_tip(node: ChainNode) -> None:
    pruner(node).prune_by_hand(10_000)
    assert 0 < last_pruned(node) <= 500 - 288


def test_not_past_what_was_told(node: ChainNode) -> None:
    assert pruner(node, told=False).prune_by_hand(200) == 0


def test_to_a_target(node: ChainNode) -> None:
    size = sum(path.stat().st_size for path in node.block_files.path(0).parent.glob("*.dat"))
    pruner(node, ROOM + size - FILE_BYTES).prune_to_target()
    left = sum(path.stat().st_size for path in node.block_files.path(0).parent.glob("*.dat"))
    assert left < size - FILE_BYTES
    assert 0 < last_pruned(node) < 200


def test_target_that_is_not_reached(node: ChainNode) -> None:
    pruner(node, ROOM + (1 << 20)).prune_to_target()
    assert last_pruned(node) == -1
    assert not has_pruned(node.stores)


def test_coins_are_at_the_tip_before_anything_goes(node: ChainNode) -> None:
    pruner(node).prune_by_hand(200)
    assert node.database.coins.tip() == node.tip


def test_crash_between_commit_and_deletion(node: ChainNode, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pruner(node)
    monkeypatch.setattr(first, "_unlink", lambda files: None)
    first.prune_by_hand(150)
    assert node.block_files.numbers()[0] == 0
    node.restart()
    assert last_pruned(node) > 0
    again = pruner(node)
    again.finish()
    assert node.block_files.numbers()[0] > 0
    assert again.prune_height(node.manager.tip) == last_pruned(node)
    assert node.tip == CHAIN[-1].hash


def test_blocks_whose_scripts_are_still_checked_are_waited_for(node: ChainNode) -> None:
    automatic = pruner(node, ROOM + FILE_BYTES)
    journal, state = node.manager.journal, node.manager.state
    below = state.active.at(499)
    told, state.told_tip = state.told_tip, below
    automatic.after_commit()
    assert last_pruned(node) == -1
    assert journal.due
    assert not journal.divisible
    state.told_tip = told
    automatic.after_commit()
    assert last_pruned(node) > 0
