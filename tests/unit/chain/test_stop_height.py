"""-stopatheight: the chain stops right there, durably, and goes on by one block in each later run."""

from pathlib import Path

import pytest

from helpers.chain_builder import genesis, make_chain
from helpers.chain_node import ChainNode

BLOCKS = make_chain(genesis(), 5)
YOUNG, OLD = 10**10, 60
"""Values of -maxtipage: behind the first block initial download is over, or goes on."""


def stopping_node(folder: Path, max_tip_age: int, halts: list[int]) -> ChainNode:
    node = ChainNode(folder, max_tip_age=max_tip_age)
    object.__setattr__(node.manager.state.options, "stop_at_height", 3)
    node.manager.state.on_halt = lambda: halts.append(node.manager.tip.height)
    return node


@pytest.mark.parametrize("max_tip_age", [YOUNG, OLD])
def test_no_block_is_connected_above_the_height(tmp_path: Path, max_tip_age: int) -> None:
    halts: list[int] = []
    node = stopping_node(tmp_path, max_tip_age, halts)
    for built in BLOCKS:
        assert built.block is not None
        node.manager.process_new_block(built.block)
    assert halts == [3]
    assert node.tip == BLOCKS[2].hash
    assert node.manager.state.index[BLOCKS[4].hash].has_data


def test_a_later_run_stops_behind_its_first_block(tmp_path: Path) -> None:
    halts: list[int] = []
    node = stopping_node(tmp_path, YOUNG, halts)
    node.submit(*BLOCKS[:3])
    node.close()
    node = stopping_node(tmp_path, YOUNG, halts)
    assert halts == [3]
    node.submit(*BLOCKS[3:])
    assert halts == [3, 4]
    assert node.tip == BLOCKS[3].hash
    node.close()
