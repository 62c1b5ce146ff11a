"""Which lane is to blame for the memory of the events process."""

from dataclasses import dataclass, field

import pytest

from clarion.notifiers.lanes.lane_state import LaneState
from clarion.notifiers.memory_watch import MemoryWatch, is_foreign, resident_bytes
from clarion.plugins.observers import PluginObserver
from helpers.event_source import RecordingNotifier

MIB = 1 << 20


@dataclass
class Weighed:
    """A lane that took so much."""

    name: str
    grown_bytes: int
    is_weighed: bool = True
    state: LaneState = field(default_factory=LaneState)

    def __post_init__(self) -> None:
        self.state.grown_bytes = self.grown_bytes


def _watch(*lanes: Weighed) -> tuple[MemoryWatch, list[tuple[str, str]], int]:
    """Return a watch with a limit of 100 MiB more than there is, whom it blamed, and what there is."""
    blamed: list[tuple[str, str]] = []
    held = resident_bytes()
    return MemoryWatch(lanes, held + 100 * MIB, lambda *what: blamed.append(what)), blamed, held


def test_greediest_plugin_is_blamed_above_the_limit_only() -> None:
    watch, blamed, held = _watch(Weighed("a", 10 * MIB), Weighed("b", 90 * MIB), Weighed("ours", 95 * MIB, False))
    assert watch.check(held + 100 * MIB)
    assert not watch.check(held + 110 * MIB)
    ((name, reason),) = blamed
    assert name == "b"
    assert reason.startswith("it took 90 of the")


def test_call_that_goes_on_counts() -> None:
    lane = Weighed("a", 0)
    watch, blamed, held = _watch(lane)
    lane.state.weighed_from = held
    assert not watch.check(held + 110 * MIB)
    assert [name for name, _ in blamed] == ["a"]
    lane.state.weighed(held + 50 * MIB)
    assert lane.state.grown_bytes == lane.state.taken_bytes(0) == 50 * MIB


def test_where_nobody_is_to_blame_it_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    watch, blamed, held = _watch(Weighed("a", 10 * MIB), Weighed("paused", 90 * MIB, state=LaneState(paused=True)))
    assert watch.check(held + 110 * MIB)
    assert watch.check(held + 120 * MIB)
    assert blamed == []
    assert caplog.text.count("no plugin took most of them") == 1


def test_what_plugins_bring_is_weighed_and_what_is_ours_is_not() -> None:
    assert is_foreign(RecordingNotifier())
    assert PluginObserver.is_weighed
    assert not is_foreign(LaneState())
