"""The header tree: ancestors through skip pointers, median time, work, and what storage keeps."""

import pytest

from clarion.node.chain.block_index import BlockIndex
from helpers.headers import grow, header_on, page_of


def test_ancestors_are_the_blocks_that_a_walk_finds() -> None:
    chain = grow(BlockIndex(), None, 600)
    for height in (599, 598, 512, 257, 100, 33, 2, 1):
        for wanted in range(0, height + 1, 7):
            assert chain[height].ancestor(wanted) is chain[wanted]


@pytest.mark.parametrize("height", [-1, 10])
def test_no_ancestor_outside_the_chain(height: int) -> None:
    assert grow(BlockIndex(), None, 10)[9].ancestor(height) is None


def test_a_walk_to_genesis_takes_few_steps() -> None:
    tip = grow(BlockIndex(), None, 5000)[-1]
    steps, at = 0, tip
    while at.height > 3:
        at = at.skip if at.skip is not None and at.skip.height >= 3 else at.prev
        steps += 1
    assert steps < 60


def test_median_time_past_sorts_the_last_eleven_times() -> None:
    index = BlockIndex()
    entry = index.add(header_on(bytes(32), 1000))
    for time in (900, 1100, 1050, 1200, 800, 1300, 1250, 1400, 1150, 1500):
        entry = index.add(header_on(entry.hash, time))
    assert entry.median_time_past() == 1150
    assert index.add(header_on(entry.hash, 2000)).median_time_past() == 1150 + 50


def test_median_of_a_short_chain_is_the_upper_middle() -> None:
    first, second = grow(BlockIndex(), None, 2)
    assert first.median_time_past() == first.time
    assert second.median_time_past() == second.time


def test_chainwork_adds_up_and_time_max_never_falls() -> None:
    index = BlockIndex()
    first = index.add(header_on(bytes(32), 1000))
    second = index.add(header_on(first.hash, 500))
    assert (first.chainwork, second.chainwork) == (2, 4)
    assert second.time_max == 1000


def test_a_row_brings_the_entry_back() -> None:
    first, second = grow(BlockIndex(), None, 2)
    second.status, second.tx_count, second.chain_tx_count = 29, 3, 4
    second.file, second.data_pos, second.data_size, second.undo_pos, second.undo_size = 1, 8, 300, 8, 40
    loaded = BlockIndex()
    loaded.load([page_of(second, first)], 2)
    again = loaded[second.hash]
    assert again.row() == second.row()
    assert again.prev is loaded[first.hash]


def test_adding_a_known_header_returns_its_entry() -> None:
    index = BlockIndex()
    entry = grow(index, None, 1)[0]
    assert index.add(entry.header()) is entry
    assert len(index) == 1
