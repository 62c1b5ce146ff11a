"""The active chain: look-ups by height, forks, and the locator."""

from clarion.node.chain.active_chain import ActiveChain
from clarion.node.chain.block_index import BlockIndex
from helpers.headers import grow


def _chain(length: int) -> tuple[BlockIndex, ActiveChain]:
    index = BlockIndex()
    active = ActiveChain(index)
    for entry in grow(index, None, length):
        active.append(entry)
    return index, active


def test_fork_of_a_branch_is_the_last_shared_block() -> None:
    index, active = _chain(10)
    branch = grow(index, active.at(4), 20, nonce=1)
    assert active.find_fork(branch[-1]) is active.at(4)
    assert active.find_fork(branch[0]) is active.at(4)
    assert active.find_fork(active.tip) is active.tip


def test_a_block_of_a_branch_is_not_in_the_chain() -> None:
    index, active = _chain(10)
    branch = grow(index, active.at(4), 2, nonce=1)
    assert branch[0] not in active
    assert active.next(branch[0]) is None
    assert active.next(active.tip) is None
    assert active.next(active.at(3)) is active.at(4)


def test_hashes_between_two_heights_go_upward() -> None:
    _, active = _chain(5)
    assert active.hashes_between(1, 3) == [(2, active.at(2).hash), (3, active.at(3).hash)]
    assert len(active.hashes_between(-1, 4)) == 5


def test_locator_takes_single_steps_then_doubles_and_ends_in_genesis() -> None:
    index, active = _chain(101)
    heights = [index[block_hash].height for block_hash in active.locator()]
    assert heights[:12] == [100, 99, 98, 97, 96, 95, 94, 93, 92, 91, 90, 89]
    assert heights[12:] == [87, 83, 75, 59, 27, 0]
