"""Where a plugin's lane goes on after a restart of the node."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.storage.lane_store import LaneRecord
from clarion.notifiers.lanes.stored_place import StoredPlace
from helpers.lane_bench import LaneBench

NAME = "plugin p"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LaneBench]:
    """Return a log of some blocks with a store of lanes."""
    bench = LaneBench(tmp_path, steps=[("blocks", 3), ("reorganise", 2)])
    yield bench
    bench.close()


def test_new_place_is_behind_what_there_is_and_is_stored_at_once(bench: LaneBench) -> None:
    assert StoredPlace(NAME, bench.services).find(4) == 4
    assert StoredPlace(NAME, bench.services).find(9) == 4


def test_what_was_told_and_stored_is_not_told_again_after_a_restart(bench: LaneBench) -> None:
    place = StoredPlace(NAME, bench.services)
    place.find(0)
    first, second, third = bench.log.rows(0, 3)
    for row in (first, second):
        place.told(row)
    place.store()
    place.told(third)
    bench.again()
    found = StoredPlace(NAME, bench.services)
    assert found.find(100) == second.seq
    assert found.height == second.height


def test_place_in_another_log_is_left_with_a_word(bench: LaneBench, caplog: pytest.LogCaptureFixture) -> None:
    bench.store.save(NAME, LaneRecord(f"{'0' * 16}:3.4294967295:1:{'0' * 64}", ""))
    place = StoredPlace(NAME, bench.services)
    assert place.find(4) == 4
    assert "plugin p: can't go on where it was, it is told what comes from now on: " in caplog.text
    assert StoredPlace(NAME, bench.services).find(9) == 4
