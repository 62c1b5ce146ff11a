"""A lane: order, retries, giving up, pausing, restarts."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clarion.node.errors import ClarionError, DeliveryError, StorageError, StreamError
from clarion.notifiers.lanes import delivery_lane
from clarion.notifiers.lanes.transport import Message
from clarion.notifiers.stream.sync_gate import SyncGate
from helpers.event_source import wait_until
from helpers.lane_bench import LaneBench

Make = Callable[..., LaneBench]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[LaneBench] = []

    def bench(*args: object, **kwargs: object) -> LaneBench:
        made.append(LaneBench(tmp_path, *args, **kwargs))  # type: ignore[arg-type]
        return made[-1]

    yield bench
    for each in made:
        each.close()


def _failing(times: int, error: Exception, event: str = "") -> Callable[[Message], None]:
    left = [error] * times

    def before(message: Message) -> None:
        if left and message.id.endswith(event):
            raise left.pop()

    return before


def test_everything_is_delivered_in_order_and_what_comes_later_too(make: Make) -> None:
    bench = make(steps=[("blocks", 5), ("add", 3), ("reorganise", 2)]).start()
    wait_until(lambda: bench.transport.ids == bench.everything())
    bench.play(("add", 2), ("reorganise", 3), ("remove", 1))
    wait_until(lambda: bench.transport.ids == bench.everything())
    assert bench.desk.ask("list")[0]["lag_events"] == 0
    assert bench.desk.ask("list")[0]["sent"] == len(bench.everything())


def test_a_filter_and_a_batch_size_hold(make: Make) -> None:
    bench = make("from=start&types=block_connected&batch=2", [("blocks", 5)]).start()
    wait_until(lambda: len(bench.transport.got) == 6)
    assert {message.type for message in bench.transport.got} == {"block_connected"}
    assert max(bench.transport.batches) == 2
    wait_until(lambda: bench.desk.ask("list")[0]["lag_events"] == 0)


@pytest.mark.parametrize("error", [DeliveryError("away"), OSError("refused"), ZeroDivisionError()])
def test_what_fails_is_tried_again_and_nothing_behind_it_passes(make: Make, error: Exception) -> None:
    bench = make("from=start&batch=1")
    bench.transport.before = _failing(3, error, ".2.0")
    bench.start()
    wait_until(lambda: bench.transport.ids == bench.everything())
    assert (bench.lane.state.failed, bench.lane.state.retried) == (3, 3)


def test_a_transport_that_took_part_of_a_batch_is_not_sent_that_again(make: Make) -> None:
    bench = make()
    bench.transport.before = _failing(1, DeliveryError("half", sent=3))
    bench.start()
    wait_until(lambda: len(bench.transport.ids) == len(bench.everything()) - 3)
    assert bench.transport.ids == bench.everything()[3:]


def test_a_restart_goes_on_where_the_last_process_was(make: Make) -> None:
    bench = make().start()
    wait_until(lambda: bench.transport.ids == bench.everything())
    first = bench.everything()
    bench.again()
    bench.chain.play([("reorganise", 2), ("blocks", 2)])
    bench.start()
    wait_until(lambda: first + bench.transport.ids == bench.everything())


def test_a_new_lane_begins_with_news_and_remembers_it_before_there_is_any(make: Make) -> None:
    bench = make("")
    before = len(bench.everything())
    bench.chain.play([("blocks", 1)])  # between the start of the node and that of the lane
    bench.start()
    wait_until(lambda: bench.transport.ids == bench.everything()[before:] and bool(bench.transport.ids))
    bench.again()
    bench.chain.play([("blocks", 1)])
    bench.start()
    wait_until(lambda: len(bench.transport.ids) > 0 and bench.transport.ids[-1] == bench.everything()[-1])


def test_a_message_is_given_up_after_so_many_attempts_and_can_be_replayed(make: Make) -> None:
    bench = make("from=start&attempts=2&batch=1")
    bench.transport.before = _failing(3, DeliveryError("no"), ".2.0")
    bench.start()
    wait_until(lambda: len(bench.transport.ids) == len(bench.everything()) - 1)
    (letter,) = bench.desk.ask("letters", "a")
    assert (letter["id"].endswith(".2.0"), letter["attempts"], letter["error"]) == (True, 2, "no")
    bench.desk.ask("replay", "a", "all")  # in vain once more
    wait_until(lambda: bench.desk.ask("letters", "a")[0]["attempts"] == 3)
    bench.desk.ask("replay", "a", letter["id"])
    wait_until(lambda: bench.desk.ask("letters", "a") == [])
    assert sorted(bench.transport.ids) == sorted(bench.everything())
    assert bench.desk.ask("list")[0]["dead_letters"] == 0


def test_dead_letters_outlive_a_restart_and_can_be_dropped(make: Make) -> None:
    bench = make("from=start")
    bench.transport.before = _failing(2, DeliveryError("too big", permanent=True))
    bench.start()
    wait_until(lambda: len(bench.transport.ids) == len(bench.everything()) - 2)
    bench.again()
    letters = bench.desk.ask("letters", "a")
    assert [letter["id"] for letter in letters] == bench.everything()[:2]
    assert bench.desk.ask("drop", "a", letters[0]["id"]) == {"letters": 1}
    assert bench.desk.ask("list")[0]["dead_letters"] == 1
    with pytest.raises(StreamError, match="gave up no event 'x'"):
        bench.desk.ask("drop", "a", "x")


def test_too_many_dead_letters_stop_the_lane(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_lane, "MAX_DEAD_LETTERS", 3)
    bench = make("from=start")
    bench.transport.before = _failing(100, DeliveryError("no", permanent=True))
    bench.start()
    wait_until(lambda: bench.desk.ask("list")[0]["state"] == "stopped")
    assert bench.desk.ask("list")[0]["last_error"] == "3 messages were given up"


def test_a_receiver_that_wants_nothing_more_stops_the_lane_until_it_is_resumed(make: Make) -> None:
    bench = make("from=start")
    bench.transport.before = _failing(1, DeliveryError("gone", ends_lane=True))
    bench.start()
    wait_until(lambda: bench.desk.ask("list")[0]["state"] == "stopped")
    bench.again()
    bench.start()
    assert bench.desk.ask("list")[0]["last_error"] == "gone"
    assert bench.desk.ask("resume", "a")["state"] == "running"
    wait_until(lambda: bench.transport.ids == bench.everything())


def test_a_paused_lane_delivers_nothing_also_after_a_restart(make: Make) -> None:
    bench = make("from=start")
    bench.desk.ask("pause", "a")
    bench.start()
    wait_until(lambda: bench.store.lane("a") is not None)
    bench.again()
    bench.start()
    assert (bench.desk.ask("list")[0]["state"], bench.transport.ids) == ("paused", [])
    assert bench.desk.ask("list")[0]["lag_events"] == len(bench.everything()) == 12
    bench.desk.ask("resume", "a")
    wait_until(lambda: bench.transport.ids == bench.everything())


def test_resume_ends_a_long_back_off(make: Make) -> None:
    bench = make("from=start&retry=600")
    bench.transport.before = _failing(1, DeliveryError("busy", retry_after_s=900))
    bench.start()
    wait_until(lambda: bench.desk.ask("list")[0]["state"] == "retrying")
    assert bench.desk.ask("list")[0]["next_try_in"] > 800
    bench.desk.ask("resume", "a")
    wait_until(lambda: bench.transport.ids == bench.everything())


def test_reset_goes_back_and_survives_a_restart(make: Make) -> None:
    bench = make("types=block_connected").start()
    wait_until(lambda: bench.store.lane("a") is not None)
    bench.desk.ask("reset", "a", "height:2")
    wait_until(lambda: len(bench.transport.ids) == 2)
    bench.desk.ask("pause", "a")
    bench.desk.ask("reset", "a", "start")
    bench.again()
    bench.start()
    bench.desk.ask("resume", "a")
    wait_until(lambda: len(bench.transport.ids) == 4)
    with pytest.raises(StreamError, match="no-such-height"):
        bench.desk.ask("reset", "a", "height:99")


def test_a_cursor_of_another_log_stops_the_lane_and_a_reset_mends_it(make: Make) -> None:
    bench = make("from=start")
    bench.start()
    wait_until(lambda: bench.transport.ids == bench.everything())
    bench.store.move("a", f"{'0' * 16}:1.0:5:{'0' * 64}")
    bench.again()
    bench.start()
    wait_until(lambda: bench.desk.ask("list")[0]["state"] == "stopped")
    assert "other-log" in bench.desk.ask("list")[0]["last_error"]
    bench.desk.ask("reset", "a", "height:3")
    wait_until(lambda: bench.desk.ask("list")[0]["state"] == "running" and len(bench.transport.ids) == 3)


@pytest.mark.parametrize(("changed", "again"), [("continue", 0), ("rescan", 4)])
def test_a_changed_filter_counts_from_where_the_operator_says(make: Make, changed: str, again: int) -> None:
    bench = make("from=start&types=tip_changed").start()
    wait_until(lambda: len(bench.transport.ids) == 4)
    bench.again(f"from=start&types=block_connected&changed={changed}")
    bench.start()
    bench.play(("blocks", 1))
    wait_until(lambda: len(bench.transport.ids) == again + 1)


def test_a_store_that_fails_is_tried_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make("from=start&batch=1")
    move, failures = bench.store.move, [StorageError("disk"), StorageError("disk")]

    def fail_first(name: str, cursor: str) -> None:
        if failures:
            raise failures.pop()
        move(name, cursor)

    monkeypatch.setattr(bench.store, "move", fail_first)
    bench.start()
    wait_until(lambda: bench.transport.ids == bench.everything() and bench.store.lane("a") is not None)
    wait_until(lambda: bench.lane._stored == bench.lane.cursor)


def test_there_is_an_answer_for_wrong_questions(make: Make) -> None:
    bench = make()
    with pytest.raises(StreamError, match="no lane 'b'; there are: a"):
        bench.desk.ask("pause", "b")
    with pytest.raises(ClarionError, match="bad-cursor"):
        bench.desk.ask("reset", "a", "yesterday")


def test_lost_rows_of_the_mempool_are_told_as_a_gap(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make("from=start")
    monkeypatch.setattr(bench.services.log._log, "mempool_floor", lambda: 2)
    bench.start()
    wait_until(lambda: len(bench.transport.ids) == len(bench.everything()) + 1)
    first = bench.transport.got[0]
    assert (first.type, first.id) == ("mempool_gap", f"{bench.log.log_id}.2.mempool_gap")


def test_after_sync_leaves_out_what_the_gate_holds_back(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SyncGate, "lets_pass", lambda gate, row: row.height != 2)
    bench = make("from=start&after_sync=1&types=block_connected").start()
    bench.play(("blocks", 1))
    wait_until(lambda: len(bench.transport.got) == 4)
    assert [message.id for message in bench.transport.got] == [
        each for at, each in enumerate(bench.everything()) if at != 2
    ]
