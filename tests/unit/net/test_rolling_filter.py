"""The filter of what came lately."""

import pytest

from clarion.node.net.rolling_filter import RollingFilter


def items(start: int, count: int) -> list[bytes]:
    return [number.to_bytes(32, "little") for number in range(start, start + count)]


@pytest.mark.parametrize("capacity", [1, 7, 100])
def test_the_last_items_are_remembered(capacity: int) -> None:
    remembered = RollingFilter(capacity, 1e-6)
    sent = items(0, 5 * capacity)
    for number, item in enumerate(sent):
        remembered.add(item)
        assert all(each in remembered for each in sent[max(0, number + 1 - capacity) : number + 1])


def test_old_items_are_forgotten() -> None:
    remembered = RollingFilter(100, 1e-6)
    for item in items(0, 1000):
        remembered.add(item)
    assert sum(item in remembered for item in items(0, 850)) <= 1


def test_few_items_are_remembered_falsely() -> None:
    remembered = RollingFilter(1000, 0.01)
    assert items(0, 1)[0] not in remembered
    for item in items(0, 1500):
        remembered.add(item)
    # 200 of 20,000 are expected at most; the chance of three times as many is nil.
    assert sum(item in remembered for item in items(10_000, 20_000)) < 600


def test_nothing_is_left_after_clearing() -> None:
    remembered = RollingFilter(100, 1e-6)
    for item in items(0, 100):
        remembered.add(item)
    remembered.clear()
    assert not any(item in remembered for item in items(0, 100))
