"""Lock points: what the pool remembers of relative locks, and when that no longer holds."""

import pytest

from clarion.node.chain.active_chain import ActiveChain
from clarion.node.chain.block_index import BlockIndex, BlockIndexEntry
from clarion.node.mempool.lock_points import (
    MEMPOOL_HEIGHT,
    NO_LOCK_POINTS,
    calculate_lock_points,
    check_final_at_tip,
    check_sequence_locks_at_tip,
)
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn
from helpers.headers import grow


def spend(*sequences: int, lock_time: int = 0) -> Transaction:
    inputs = [TxIn(make_outpoint(bytes(32), index), b"", sequence) for index, sequence in enumerate(sequences)]
    return Transaction(2, inputs, [], lock_time)


def coin(height: int) -> Coin:
    return Coin(1, b"", height * 2)


@pytest.fixture
def chain() -> list[BlockIndexEntry]:
    return grow(BlockIndex(), None, 20)


def test_without_relative_locks_nothing_can_change(chain: list[BlockIndexEntry]) -> None:
    assert calculate_lock_points(chain[-1], spend(0xFFFFFFFE), [coin(5)]) is NO_LOCK_POINTS
    assert check_sequence_locks_at_tip(chain[-1], NO_LOCK_POINTS)
    assert NO_LOCK_POINTS.valid_in(ActiveChain(chain[0].index))


def test_a_lock_counts_from_the_coin_and_hangs_on_its_block(chain: list[BlockIndexEntry]) -> None:
    points = calculate_lock_points(chain[-1], spend(10, 3), [coin(5), coin(12)])
    assert (points.height, points.time, points.max_input_block) == (14, -1, chain[12])
    assert check_sequence_locks_at_tip(chain[14], points)
    assert not check_sequence_locks_at_tip(chain[13], points)


def test_they_hold_only_while_that_block_is_active(chain: list[BlockIndexEntry]) -> None:
    points = calculate_lock_points(chain[-1], spend(1), [coin(5)])
    active = ActiveChain(chain[0].index)
    for entry in chain[:6]:
        active.append(entry)
    assert points.valid_in(active)
    active.pop()
    assert not points.valid_in(active)


def test_a_coin_of_the_pool_is_taken_to_be_confirmed_next(chain: list[BlockIndexEntry]) -> None:
    free = calculate_lock_points(chain[-1], spend(0), [coin(MEMPOOL_HEIGHT)])
    locked = calculate_lock_points(chain[-1], spend(1), [coin(MEMPOOL_HEIGHT)])
    assert (free.height, locked.height) == (19, 20)
    assert check_sequence_locks_at_tip(chain[-1], free)
    assert not check_sequence_locks_at_tip(chain[-1], locked)


def test_lock_times_are_compared_with_the_next_block(chain: list[BlockIndexEntry]) -> None:
    assert check_final_at_tip(chain[-1], spend(0, lock_time=19))
    assert not check_final_at_tip(chain[-1], spend(0, lock_time=20))
    assert check_final_at_tip(chain[-1], spend(0xFFFFFFFF, lock_time=20))
