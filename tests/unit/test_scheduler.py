"""Repeated work: when it is due, and that nothing stops it."""

import queue
from collections.abc import Iterator

import pytest

from clarion.node.scheduler import Scheduler

PATIENCE_S = 10


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    scheduler = Scheduler()
    scheduler.start()
    yield scheduler
    scheduler.stop()


def test_work_is_repeated(scheduler: Scheduler) -> None:
    done: queue.Queue[str] = queue.Queue()
    scheduler.every(0.001, lambda: done.put("work"))
    assert [done.get(timeout=PATIENCE_S) for _ in range(3)] == ["work"] * 3


def test_time_can_be_skipped(scheduler: Scheduler) -> None:
    done: queue.Queue[str] = queue.Queue()
    scheduler.every(7200, lambda: done.put("slow"))
    scheduler.every(3600, lambda: done.put("hourly"))
    assert done.empty()
    scheduler.skip(3600)
    assert done.get(timeout=PATIENCE_S) == "hourly"
    scheduler.skip(3600)
    assert {done.get(timeout=PATIENCE_S), done.get(timeout=PATIENCE_S)} == {"slow", "hourly"}
    assert done.empty()


def test_work_that_is_done_once(scheduler: Scheduler) -> None:
    done: queue.Queue[str] = queue.Queue()
    scheduler.later(3600, lambda: done.put("once"))
    scheduler.every(3600, lambda: done.put("hourly"))
    scheduler.skip(3600)
    assert {done.get(timeout=PATIENCE_S), done.get(timeout=PATIENCE_S)} == {"once", "hourly"}
    scheduler.skip(3600)
    assert done.get(timeout=PATIENCE_S) == "hourly"
    assert done.empty()


def test_a_failing_call_is_told_and_the_others_go_on(scheduler: Scheduler, caplog: pytest.LogCaptureFixture) -> None:
    done: queue.Queue[str] = queue.Queue()
    scheduler.every(3600, lambda: 1 // 0)
    scheduler.every(3600, lambda: done.put("work"))
    scheduler.skip(3600)
    assert done.get(timeout=PATIENCE_S) == "work"
    assert "Repeated work failed" in caplog.text


def test_stopping_leaves_the_rest_undone() -> None:
    scheduler = Scheduler()
    done: list[int] = []
    scheduler.start()
    scheduler.every(3600, lambda: done.append(1))
    scheduler.stop()
    scheduler.skip(3600)
    assert done == []
