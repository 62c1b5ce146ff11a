"""Which lane is to blame for the memory of the events process."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clarion.notifiers.lanes.lane_state import LaneState
from clarion.notifiers.memory_trace import code_of
from clarion.notifiers.memory_watch import PATIENCE, MemoryWatch, is_foreign, resident_bytes
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
    code: str = ""

    def __post_init__(self) -> None:
        self.state.grown_bytes = self.grown_bytes


Blamed = list[tuple[Sequence[str], str]]


def _watch(*lanes: Weighed) -> tuple[MemoryWatch, Blamed, int]:
    """Return a watch with a limit of 100 MiB more than there is, whom it blamed, and what there is."""
    blamed: Blamed = []
    held = resident_bytes()
    return MemoryWatch(lanes, held + 100 * MIB, lambda *what: blamed.append(what)), blamed, held


def _is_kept(watch: MemoryWatch, held: int) -> bool:
    """Whether all go on after as many checks as it takes to name who took much in his calls."""
    return all(watch.check(held) for _ in range(PATIENCE))


def test_greediest_plugin_is_blamed_above_the_limit_only() -> None:
    watch, blamed, held = _watch(Weighed("a", 10 * MIB), Weighed("b", 90 * MIB), Weighed("ours", 95 * MIB, False))
    assert _is_kept(watch, held + 100 * MIB)
    assert not _is_kept(watch, held + 110 * MIB)
    ((names, reason),) = blamed
    assert names == ("b",)
    assert reason.startswith("it took 90 of the")


def test_call_that_goes_on_counts() -> None:
    lane = Weighed("a", 0)
    watch, blamed, held = _watch(lane)
    lane.state.weighed_from = held
    assert not _is_kept(watch, held + 110 * MIB)
    assert [names for names, _ in blamed] == [("a",)]
    lane.state.weighed(held + 50 * MIB)
    assert lane.state.grown_bytes == lane.state.taken_bytes(0) == 50 * MIB


def test_where_nobody_is_to_blame_it_is_told_once_and_all_start_again_where_it_grows_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watch, blamed, held = _watch(Weighed("a", 10 * MIB), Weighed("paused", 90 * MIB, state=LaneState(paused=True)))
    assert _is_kept(watch, held + 110 * MIB)
    assert _is_kept(watch, held + 120 * MIB)
    assert blamed == []
    assert caplog.text.count("no plugin took most of them") == 1
    assert not watch.check(2 * (held + 110 * MIB))
    assert [names for names, _ in blamed] == [()]


def test_without_plugins_the_process_goes_on_whatever_it_holds() -> None:
    watch, blamed, held = _watch(Weighed("ours", 95 * MIB, False))
    assert _is_kept(watch, 10 * (held + 110 * MIB))
    assert blamed == []


HUNGRY = """
import threading
kept = []
class Plugin:
    def run(self):
        thread = threading.Thread(target=self._take)
        thread.start()
        thread.join()
    def _take(self):
        kept.extend(bytes(100_000) for _ in range(200))
"""


def test_code_that_takes_memory_on_a_thread_of_its_own_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hungry.py").write_text(HUNGRY)
    monkeypatch.syspath_prepend(tmp_path)
    plugin = importlib.import_module("hungry").Plugin()
    # Another plugin was being told something all the while: what the process grew by counts as its own, wrongly.
    watch, blamed, held = _watch(Weighed("busy", 90 * MIB, code=__file__), Weighed("hungry", 0, code=code_of(plugin)))
    assert watch.check(held + 110 * MIB)
    plugin.run()
    assert not watch.check(held + 120 * MIB)
    ((names, reason),) = blamed
    assert names == ["hungry"]
    assert "its code took 19 of the last" in reason


def test_code_of_a_plugin_is_its_file_or_its_package() -> None:
    assert code_of(LaneState()).endswith("/clarion/")
    assert code_of(importlib.import_module("helpers.event_source")).endswith("/helpers/")
    assert code_of(pytest).endswith("/pytest/")


def test_what_plugins_bring_is_weighed_and_what_is_ours_is_not() -> None:
    assert is_foreign(RecordingNotifier())
    assert PluginObserver.is_weighed
    assert not is_foreign(LaneState())
