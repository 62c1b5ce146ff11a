"""The header tree: ancestors through skip pointers, median time, work, and what storage keeps."""

import gc
import threading

import pytest

from clarion.node.chain.block_index import BlockIndex, Successor
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


def test_a_header_has_one_entry_while_somebody_holds_it() -> None:
    index = BlockIndex()
    held = grow(index, None, 3000)[1500]
    for entry in index:
        entry.status |= 1
    assert index[held.hash] is held
    assert held.status & 1


def test_what_an_entry_knew_stays_when_nobody_holds_it() -> None:
    index = BlockIndex()
    block_hash = grow(index, None, 2)[1].hash
    index[block_hash].tx_count = 7
    gc.collect()
    assert index[block_hash].tx_count == 7


def test_threads_get_the_same_entries() -> None:
    index, start, found = BlockIndex(), threading.Barrier(4), []
    grow(index, None, 2000)

    def look() -> None:
        start.wait()
        found.append(list(index))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(entry is other for others in found for entry, other in zip(found[0], others, strict=True))


def test_every_hash_is_found_and_no_other() -> None:
    index = BlockIndex()
    chain = grow(index, None, 5000)
    others = grow(BlockIndex(), None, 500, nonce=1)
    assert all(index.get(entry.hash) is entry for entry in chain)
    assert not any(entry.hash in index for entry in others)
    with pytest.raises(KeyError):
        index[others[0].hash]


def test_a_fixed_property_can_not_be_written() -> None:
    entry = grow(BlockIndex(), None, 1)[0]
    with pytest.raises(AttributeError):
        entry.height = 5  # type: ignore[misc]


def test_a_successor_is_placed_as_the_entry_would_be() -> None:
    index = BlockIndex()
    tip = grow(index, None, 40)[-1]
    header = header_on(tip.hash, tip.time + 50)
    draft = Successor(header, tip)
    median, entry = draft.median_time_past(), index.add(header)
    assert (draft.hash, draft.height, draft.prev) == (entry.hash, entry.height, entry.prev)
    assert median == entry.median_time_past()
    assert (draft.ancestor(40), draft.ancestor(7), draft.ancestor(41)) == (draft, entry.ancestor(7), None)
