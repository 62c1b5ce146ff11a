"""Walks over the whole header tree find what a plain search through all entries finds."""

import pytest

from clarion.node.chain.block_index import BlockIndex, BlockIndexEntry
from clarion.node.chain.candidates import work_key
from helpers.header_tree import fill_in, random_tree
from helpers.headers import grow

SEEDS = range(6)


def _tree(seed: int) -> tuple[BlockIndex, list[BlockIndexEntry]]:
    entries = random_tree(seed)
    fill_in(entries, seed)
    return entries[0].index, entries


def _in_order(entries: list[BlockIndexEntry]) -> list[BlockIndexEntry]:
    return sorted(entries, key=lambda entry: entry.number)


@pytest.mark.parametrize("seed", SEEDS)
def test_leaves_are_the_entries_without_children(seed: int) -> None:
    index, entries = _tree(seed)
    parents = {entry.prev for entry in entries}
    assert index.leaves() == [entry for entry in entries if entry not in parents]


@pytest.mark.parametrize("seed", SEEDS)
def test_descendants_are_all_that_build_on_an_entry(seed: int) -> None:
    index, entries = _tree(seed)
    for root in entries[::37]:
        expected = [other for other in entries if other is not root and other.ancestor(root.height) is root]
        assert _in_order(list(index.descendants(root))) == expected
        assert [other for other in entries if other.descends_from(root)] == [root, *expected]


@pytest.mark.parametrize("seed", SEEDS)
def test_connectable_entries_come_best_first_down_to_the_least_work(seed: int) -> None:
    index, entries = _tree(seed)
    good = [entry for entry in entries if entry.connectable]
    least = good[len(good) // 2].chainwork
    found = list(index.connectable(least))
    assert _in_order(found) == [entry for entry in good if entry.chainwork >= least]
    assert [work_key(entry) for entry in found] == sorted(map(work_key, found), reverse=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_best_valid_and_best_failed_have_the_most_work(seed: int) -> None:
    index, entries = _tree(seed)
    best_valid = max(entry.chainwork for entry in entries if not entry.failed)
    best_failed = max(entry.chainwork for entry in entries if entry.failed)
    valid, failed = index.best_valid(entries[0]), index.best_failed()
    assert failed is not None
    assert (valid.failed, valid.chainwork) == (False, best_valid)
    assert (failed.failed, failed.chainwork) == (True, best_failed)


def test_of_equal_work_the_given_entry_is_the_best_header() -> None:
    index = BlockIndex()
    root = grow(index, None, 1)[0]
    first, second = grow(index, root, 1, nonce=1)[0], grow(index, root, 1, nonce=2)[0]
    assert index.best_valid(second) is second
    assert index.best_valid(first) is first
    assert index.best_valid(root) is first


def test_nothing_failed_in_a_good_tree() -> None:
    index = BlockIndex()
    grow(index, None, 3)
    assert index.best_failed() is None


@pytest.mark.parametrize("seed", SEEDS)
def test_unlinked_blocks_have_data_and_a_parent_that_is_not_connected(seed: int) -> None:
    index, entries = _tree(seed)
    expected = [
        entry
        for entry in entries
        if entry.has_data and not entry.failed and entry.prev is not None and not entry.prev.chain_tx_count
    ]
    assert _in_order(list(index.unlinked())) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_last_positions_are_the_highest_in_their_files(seed: int) -> None:
    index, entries = _tree(seed)
    stored = [entry for entry in entries if entry.has_data]
    last = index.last_block()
    assert last is not None
    assert last.data_position == max(entry.data_position for entry in stored)
    for file, position in index.last_undo().items():
        assert position == max(entry.undo_position for entry in stored if entry.file == file)
    assert set(index.last_undo()) == {0, 1, 2}


def test_a_tree_without_blocks_has_no_positions() -> None:
    index = BlockIndex()
    grow(index, None, 2)
    assert (index.last_block(), index.last_undo()) == (None, {})
