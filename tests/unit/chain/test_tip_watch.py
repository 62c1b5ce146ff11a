"""Waiting for a tip: found at once, after a move, in vain, given up, and at the node's end."""

import threading
from collections.abc import Iterator
from concurrent.futures import wait

import pytest

from clarion.node.chain.tip_watch import TipWatch

LONG_S = 30


@pytest.fixture
def watch() -> Iterator[TipWatch]:
    watch = TipWatch()
    yield watch
    watch.stop()


class Height:
    """A tip that the test moves."""

    def __init__(self) -> None:
        self.value = 0

    def reaches(self, height: int) -> bool:
        return self.value >= height


def test_what_has_happened_needs_no_thread(watch: TipWatch) -> None:
    before = threading.active_count()
    assert watch.when(lambda: True).result(0)
    assert threading.active_count() == before


def test_each_is_told_at_its_own_tip(watch: TipWatch) -> None:
    height = Height()
    first, second = (watch.when(lambda at=at: height.reaches(at)) for at in (1, 2))
    height.value = 1
    watch.tip_moved()
    assert first.result(LONG_S)
    assert not second.done()
    height.value = 2
    watch.tip_moved()
    assert second.result(LONG_S)


def test_time_is_up(watch: TipWatch) -> None:
    patient = watch.when(lambda: False, LONG_S)
    assert watch.when(lambda: False, 0.01).result(LONG_S) is False
    assert watch.when(lambda: False, 0).result(LONG_S) is False
    assert not patient.done()


def test_a_hundred_wait_with_one_thread(watch: TipWatch) -> None:
    height, before = Height(), threading.active_count()
    waits = [watch.when(lambda: height.reaches(1)) for _ in range(100)]
    assert threading.active_count() == before + 1
    height.value = 1
    watch.tip_moved()
    assert not wait(waits, LONG_S).not_done


def test_who_gives_up_is_forgotten(watch: TipWatch) -> None:
    asked = []
    gone = watch.when(lambda: bool(asked.append("gone")))
    assert gone.cancel()
    asked.clear()
    watch.tip_moved()
    assert watch.when(lambda: False, 0.01).result(LONG_S) is False
    assert asked == []


def test_the_end_ends_every_wait(watch: TipWatch) -> None:
    waiting = watch.when(lambda: False)
    watch.stop()
    assert waiting.result(0) is False
    assert watch.when(lambda: False).result(0) is False
    assert watch.stopped


def test_a_wait_may_follow_from_another(watch: TipWatch) -> None:
    height, followed = Height(), threading.Event()
    first = watch.when(lambda: height.reaches(1))
    first.add_done_callback(lambda _: watch.when(lambda: height.reaches(2)).add_done_callback(lambda _: followed.set()))
    for value in (1, 2):
        height.value = value
        watch.tip_moved()
    assert followed.wait(LONG_S)


def test_a_broken_question_hurts_its_asker_only(watch: TipWatch) -> None:
    height = Height()
    broken = watch.when(lambda: height.value > 0 and height.reaches(None))  # type: ignore[arg-type]
    sound = watch.when(lambda: height.reaches(1))
    height.value = 1
    watch.tip_moved()
    with pytest.raises(TypeError):
        broken.result(LONG_S)
    assert sound.result(LONG_S)
