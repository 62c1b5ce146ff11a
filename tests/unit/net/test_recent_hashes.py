"""The hashes that were noted lately."""

from hypothesis import given
from hypothesis import strategies as st

from clarion.node.net.relay.recent_hashes import RecentHashes

BATCHES = st.lists(st.sets(st.integers(0, 40), max_size=10), max_size=30)


def name(number: int) -> bytes:
    return number.to_bytes(32, "little")


@given(batches=BATCHES)
def test_the_last_ones_are_remembered_and_nothing_else(batches: list[set[int]]) -> None:
    recent = RecentHashes(10)
    for count, batch in enumerate(batches, 1):
        recent.update({name(number) for number in batch})
        remembered = {number for number in range(50) if name(number) in recent}
        last = 0
        for earlier in reversed(batches[:count]):
            last += len(earlier)
            if last <= 10:
                assert earlier <= remembered
        assert remembered <= set().union(*batches[:count])
        assert len(remembered) <= 20


def test_single_hashes_drive_old_ones_out() -> None:
    recent = RecentHashes(100)
    for number in range(1000):
        recent.add(name(number))
        assert all(name(each) in recent for each in range(max(0, number - 99), number + 1))
    assert not any(name(number) in recent for number in range(800))


def test_nothing_is_left_after_clearing() -> None:
    recent = RecentHashes(100)
    for number in range(150):
        recent.add(name(number))
    recent.clear()
    assert not any(name(number) in recent for number in range(150))
