"""Lanes: order, retries, waiting, stopping."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from clarion.node.errors import BlockFileError, ConfigError
from clarion.node.events.row import EventRow
from clarion.notifiers import lane as lane_module
from clarion.notifiers.engine import EventsEngine
from clarion.notifiers.notifier import LoggedEvent
from helpers.event_source import ListSource, RecordingNotifier, make_block, wait_until


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "_FIRST_PAUSE_S", 0.01)


def _source(blocks: int) -> ListSource:
    source = ListSource()
    for nonce in range(blocks):
        source.connect(make_block(nonce))
    return source


def test_rows_behind_the_start_are_told_in_order_and_new_ones_after_a_wake() -> None:
    source, notifier = _source(100), RecordingNotifier()
    engine = EventsEngine(source, [notifier], 150)
    engine.start()
    wait_until(lambda: notifier.told == list(range(151, 201)))
    source.connect(make_block(1000))
    engine.wake()
    wait_until(lambda: notifier.told[-2:] == [201, 202])
    engine.stop(5)
    assert (notifier.opened, notifier.closed, source.closed) == (1, 1, True)


def test_positions_say_where_each_notifier_goes_on() -> None:
    one, two = RecordingNotifier("one"), RecordingNotifier("two")
    engine = EventsEngine(_source(2), [one, two], 4, {"one": 1})
    engine.start()
    wait_until(lambda: engine.positions() == {"one": 4, "two": 4})
    engine.stop(5)
    assert (one.told, two.told) == ([2, 3, 4], [])


@pytest.mark.parametrize("error", [BlockFileError("gone"), ZeroDivisionError()])
def test_failed_row_is_tried_again_and_never_skipped(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    failures = [error, error]

    def fail_twice(event: LoggedEvent) -> None:
        if event.row.seq == 2 and failures:
            raise failures.pop()

    notifier = RecordingNotifier(before=fail_twice)
    engine = EventsEngine(_source(2), [notifier], 0)
    engine.start()
    wait_until(lambda: notifier.told == [1, 2, 3, 4])
    engine.stop(5)
    assert caplog.text.count("recorder: event 2 is not told yet") == 2
    assert caplog.text.count("Traceback") == isinstance(error, ZeroDivisionError)


def test_unreadable_log_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    source, notifier = _source(1), RecordingNotifier()
    read, failures = source.read, [BlockFileError("disk")]

    def fail_once(after_seq: int, limit: int) -> object:
        if failures:
            raise failures.pop()
        return read(after_seq, limit)

    monkeypatch.setattr(source, "read", fail_once)
    engine = EventsEngine(source, [notifier], 0)
    engine.start()
    wait_until(lambda: notifier.told == [1, 2])
    engine.stop(5)


def test_callback_waits_for_all_awaited_notifiers() -> None:
    gate, told = threading.Event(), threading.Event()
    slow = RecordingNotifier("slow", lambda event: gate.wait() and None)
    fast = RecordingNotifier("fast")
    engine = EventsEngine(_source(1), [slow, fast], 0)
    engine.start()
    engine.call_when_told(2, told.set)
    wait_until(lambda: fast.told == [1, 2])
    assert not told.wait(0.05)
    gate.set()
    assert told.wait(5)
    engine.stop(5)


def test_stop_tells_awaited_notifiers_the_rest_and_leaves_the_others_where_they_are() -> None:
    gate = threading.Event()
    awaited = RecordingNotifier("awaited", lambda event: gate.wait() and None)
    other = RecordingNotifier("other", lambda event: gate.wait() and None)
    other.awaited = False
    engine = EventsEngine(_source(3), [awaited, other], 0)
    engine.start()
    threading.Timer(0.05, gate.set).start()
    engine.stop(5)
    assert awaited.told == [1, 2, 3, 4, 5, 6]
    assert other.told == [1]


def test_stop_waits_as_long_as_rows_are_told() -> None:
    slow = RecordingNotifier("slow", lambda event: time.sleep(0.03))
    engine = EventsEngine(_source(10), [slow], 0)
    engine.start()
    engine.stop(0.2)
    assert slow.told == list(range(1, 21))


def test_stop_leaves_a_stuck_notifier_behind(caplog: pytest.LogCaptureFixture) -> None:
    gate = threading.Event()
    stuck = RecordingNotifier("stuck", lambda event: gate.wait() and None)
    engine = EventsEngine(_source(1), [stuck], 0)
    engine.start()
    engine.stop(0.05)
    assert "stuck: left behind at event 0 of 2" in caplog.text
    assert stuck.closed == 0
    gate.set()


def test_failing_open_closes_what_was_opened() -> None:
    good, bad, source = RecordingNotifier("good"), RecordingNotifier("bad"), _source(0)

    def refuse() -> None:
        raise ConfigError("no")

    bad.open = refuse  # type: ignore[method-assign]
    with pytest.raises(ConfigError, match="no"):
        EventsEngine(source, [good, bad], 0).start()
    assert (good.closed, bad.closed, source.closed) == (1, 1, True)


def test_two_notifiers_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="same name: x, x"):
        EventsEngine(_source(0), [RecordingNotifier("x"), RecordingNotifier("x")], 0).start()


def _early(name: str = "early", before: Callable[[LoggedEvent], None] = lambda event: None) -> RecordingNotifier:
    notifier = RecordingNotifier(name, before)
    notifier.early = True
    return notifier


def _pool_rows(count: int, after: int) -> list[EventRow]:
    log = _source(0)
    rows = [log.add_to_mempool(make_block(nonce).txs[0], nonce + 1) for nonce in range(count)]
    return [replace(row, seq=after + number) for number, row in enumerate(rows, 1)]


def test_rows_that_are_offered_are_told_before_they_are_in_the_log_and_not_again_behind() -> None:
    source, early, patient = _source(1), _early(), RecordingNotifier("patient")
    engine = EventsEngine(source, [early, patient], 0)
    engine.start()
    rows = _pool_rows(3, after=2)
    engine.offer(rows)
    wait_until(lambda: early.told == [1, 2, 3, 4, 5])
    assert patient.told == [1, 2]
    source.rows += rows
    source.connect(make_block(1000))
    engine.wake()
    wait_until(lambda: early.told == patient.told == list(range(1, 8)))
    engine.stop(5)


def test_an_offered_row_waits_for_the_rows_before_it() -> None:
    source, early = _source(1), _early()
    engine = EventsEngine(source, [early], 2)
    engine.start()
    rows = _pool_rows(3, after=2)
    engine.offer(rows[1:])  # the pipe was full when the first came
    time.sleep(0.05)
    assert early.told == []
    source.rows += rows[:1]
    engine.wake()
    wait_until(lambda: early.told == [3, 4, 5])
    engine.stop(5)


def test_a_failed_row_that_was_offered_is_told_again_from_wherever_it_is() -> None:
    source, failures = _source(1), [ZeroDivisionError()]

    def fail_once(event: LoggedEvent) -> None:
        if failures:
            raise failures.pop()

    early = _early(before=fail_once)
    engine = EventsEngine(source, [early], 2)
    engine.start()
    engine.offer(_pool_rows(1, after=2))
    wait_until(lambda: early.told == [3])
    engine.stop(5)


def test_only_so_many_offered_rows_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "EARLY_ROWS_KEPT", 2)
    source, early = _source(1), _early()
    engine = EventsEngine(source, [early], 0)
    rows = _pool_rows(5, after=2)
    engine.offer(rows)  # before the start: nothing is told meanwhile
    engine.start()
    wait_until(lambda: early.told == [1, 2, 3, 4])
    source.rows += rows
    engine.wake()
    wait_until(lambda: early.told == [1, 2, 3, 4, 5, 6, 7])
    engine.stop(5)


def test_rows_that_were_told_meanwhile_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "EARLY_ROWS_KEPT", 2)
    engine = EventsEngine(_source(1), [_early()], 2)
    (lane,) = engine._lanes
    rows = _pool_rows(4, after=2)
    engine.offer(rows[:2])
    lane.position = 4  # the lane was told both by the log while they were on their way
    engine.offer(rows[2:])
    assert list(lane._early) == [5, 6]


def test_what_is_offered_in_any_mixture_is_told_once_and_in_order() -> None:
    source, early, chance = _source(1), _early(), random.Random(7)
    engine = EventsEngine(source, [early], 0)
    engine.start()
    for row in _pool_rows(500, after=2):
        if chance.random() < 0.8:
            engine.offer([row])
        source.rows.append(row)
        if chance.random() < 0.1:
            engine.wake()
    engine.wake()
    wait_until(lambda: len(early.told) >= 502)
    engine.stop(5)
    assert early.told == list(range(1, 503))
