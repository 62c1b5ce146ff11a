"""Merkle roots and the lists that share one (CVE-2012-2459)."""

import pytest

from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.merkle import merkle_root

LEAVES = [sha256d(bytes((i,))) for i in range(16)]


def slow_root(hashes: list[bytes]) -> bytes:
    if len(hashes) == 1:
        return hashes[0]
    if len(hashes) % 2:
        hashes = [*hashes, hashes[-1]]
    return slow_root([sha256d(hashes[i] + hashes[i + 1]) for i in range(0, len(hashes), 2)])


def test_nothing_and_one() -> None:
    assert merkle_root([]) == (bytes(32), False)
    assert merkle_root(LEAVES[:1]) == (LEAVES[0], False)


@pytest.mark.parametrize("count", range(2, 17))
def test_root_of_different_hashes(count: int) -> None:
    assert merkle_root(LEAVES[:count]) == (slow_root(LEAVES[:count]), False)


@pytest.mark.parametrize(("count", "repeated"), [(3, 1), (5, 1), (6, 2), (7, 1), (12, 4)])
def test_repeating_the_tail_keeps_the_root_and_is_seen(count: int, repeated: int) -> None:
    honest = LEAVES[:count]
    forged = honest + honest[-repeated:]
    assert merkle_root(forged) == (merkle_root(honest)[0], True)


def test_equal_hashes_that_are_no_pair_are_no_mutation() -> None:
    a, b = LEAVES[:2]
    assert merkle_root([a, b, b, a])[1] is False
    assert merkle_root([b, a, a, a])[1] is True
