"""Candidates for the tip: order by work, then by arrival, and pruning."""

from clarion.node.chain.block_index import BlockIndex
from clarion.node.chain.candidates import Candidates
from helpers.headers import grow


def test_more_work_beats_an_earlier_arrival() -> None:
    chain = grow(BlockIndex(), None, 3)
    candidates = Candidates()
    for sequence, entry in enumerate(reversed(chain)):
        entry.sequence_id = sequence
        candidates.add(entry)
    assert candidates.best() is chain[2]


def test_of_equal_work_the_first_one_wins() -> None:
    index = BlockIndex()
    root = grow(index, None, 1)[0]
    first, second = grow(index, root, 1, nonce=1)[0], grow(index, root, 1, nonce=2)[0]
    first.sequence_id, second.sequence_id = 5, 6
    candidates = Candidates()
    candidates.add(second)
    candidates.add(first)
    assert candidates.best() is first


def test_a_new_sequence_id_counts_after_taking_the_entry_out() -> None:
    index = BlockIndex()
    root = grow(index, None, 1)[0]
    first, second = grow(index, root, 1, nonce=1)[0], grow(index, root, 1, nonce=2)[0]
    first.sequence_id, second.sequence_id = 5, 6
    candidates = Candidates()
    candidates.add(first)
    candidates.add(second)
    candidates.discard(second)
    second.sequence_id = -1
    candidates.add(second)
    assert candidates.best() is second


def test_prune_keeps_the_tip_and_what_is_no_worse() -> None:
    index = BlockIndex()
    chain = grow(index, None, 5)
    rival = grow(index, chain[3], 1, nonce=9)[0]
    for sequence, entry in enumerate([*chain, rival]):
        entry.sequence_id = sequence
    candidates = Candidates()
    for entry in [*chain, rival]:
        candidates.add(entry)
    candidates.prune(chain[3])
    assert [entry in candidates for entry in [*chain, rival]] == [False, False, False, True, True, True]


def test_an_empty_set_has_no_best() -> None:
    candidates = Candidates()
    candidates.discard(grow(BlockIndex(), None, 1)[0])
    assert candidates.best() is None
