"""Loading the header tree from storage: the tree that it was, whatever the order of the rows."""

import random

import pytest

from clarion.node.chain.active_chain import ActiveChain
from clarion.node.chain.block_index import SEQUENCE_FROM_DISK, BlockIndex, BlockIndexEntry
from clarion.node.errors import StorageError
from helpers.header_tree import fill_in, random_tree
from helpers.headers import grow, page_of


def _load(entries: list[BlockIndexEntry], page: int = 70) -> BlockIndex:
    index = BlockIndex()
    index.load([page_of(*entries[at : at + page]) for at in range(0, len(entries), page)], len(entries))
    return index


def _links(entry: BlockIndexEntry) -> tuple[object, ...]:
    prev, skip = entry.prev, entry.skip
    return entry.row(), prev and prev.hash, skip and skip.hash, entry.time_max, entry.median_time_past()


@pytest.mark.parametrize("seed", range(6))
def test_a_shuffled_tree_comes_back_with_all_its_links(seed: int) -> None:
    entries = random_tree(seed)
    fill_in(entries, seed)
    shuffled = random.Random(seed).sample(entries, len(entries))
    index = _load(shuffled)
    assert [_links(index[entry.hash]) for entry in entries] == [_links(entry) for entry in entries]
    assert {entry.hash for entry in index.leaves()} == {entry.hash for entry in entries[0].index.leaves()}
    assert {entry.sequence_id for entry in index} == {SEQUENCE_FROM_DISK}


def test_a_loaded_tree_grows_on() -> None:
    entries = random_tree(1)
    index = _load(entries)
    tip = grow(index, index[entries[-1].hash], 1500)[-1]
    assert len(index) == len(entries) + 1500
    assert tip.ancestor(entries[-1].height) is index[entries[-1].hash]
    assert all(index[entry.hash].number == entry.number for entry in index)


def test_an_empty_store_gives_an_empty_tree() -> None:
    index = _load([])
    assert (len(index), index.leaves()) == (0, [])


def test_a_header_without_its_parent_is_refused() -> None:
    chain = grow(BlockIndex(), None, 6)
    with pytest.raises(StorageError, match="stored at height 4 without its parent"):
        _load([*chain[:3], chain[4], grow(BlockIndex(), None, 1, nonce=5)[0]])


def test_heights_beyond_the_number_of_headers_are_refused() -> None:
    chain = grow(BlockIndex(), None, 9)
    with pytest.raises(StorageError, match="reaches height 8 with 2 blocks"):
        _load([chain[0], chain[8]])


def test_fewer_rows_than_were_counted_are_refused() -> None:
    chain = grow(BlockIndex(), None, 2)
    with pytest.raises(StorageError, match="holds 2 blocks instead of 3"):
        BlockIndex().load([page_of(*chain)], 3)


def _hashes(chain: list[BlockIndexEntry]) -> list[bytes]:
    return [entry.hash for entry in chain]


def test_the_active_chain_comes_back_with_its_sequence_id() -> None:
    index = BlockIndex()
    chain = grow(index, None, 30)
    grow(index, chain[4], 40, nonce=1)
    active = ActiveChain(index)
    active.load([b"".join(_hashes(chain[:20])), b"".join(_hashes(chain[20:]))], 0)
    assert [active.at(height) for height in range(active.height + 1)] == chain
    assert active.tip is chain[-1]
    assert sum(entry.sequence_id == 0 for entry in index) == 30


def test_an_active_chain_that_was_never_written_is_empty() -> None:
    active = ActiveChain(BlockIndex())
    active.load([], 0)
    assert active.height == -1


def test_an_active_chain_off_the_tree_is_refused() -> None:
    index = BlockIndex()
    chain = grow(index, None, 10)
    rival = grow(index, chain[4], 1, nonce=1)
    for wrong in ([*_hashes(chain[:9]), bytes(32)], _hashes(chain[1:])):
        with pytest.raises(StorageError, match="which is not stored there"):
            ActiveChain(index).load([b"".join(wrong)], 0)
    with pytest.raises(StorageError, match="leaves the path to its tip behind height 0"):
        ActiveChain(index).load([b"".join(_hashes(chain[:5] + rival + chain[6:]))], 0)
