"""Counts of vectors that a test run prints at its end: `script_tests.json 1222/1222`.

Owns: how a test reports a count and how the counts of all workers come together. Never: what is counted.
"""

from collections.abc import Callable, Iterable

import pytest

_PROPERTY = "clarion_count"

RecordCount = Callable[[str, int, int], None]


def make_recorder(node: pytest.Item) -> RecordCount:
    """Return `record_count(name, passed, total)` for one test. It travels in the report, so pytest-xdist keeps it."""

    def record_count(name: str, passed: int, total: int) -> None:
        node.user_properties.append((_PROPERTY, f"{name}\t{passed}\t{total}"))

    return record_count


def count_lines(reports: Iterable[object]) -> list[str]:
    """Return one line a name, sorted; several counts of one name (a parametrised test) are added up."""
    sums: dict[str, tuple[int, int]] = {}
    for report in reports:
        if getattr(report, "when", None) != "call":
            continue
        for key, value in getattr(report, "user_properties", ()):
            if key == _PROPERTY:
                name, passed, total = value.split("\t")
                before = sums.get(name, (0, 0))
                sums[name] = (before[0] + int(passed), before[1] + int(total))
    return [f"{name} {passed}/{total}" for name, (passed, total) in sorted(sums.items())]
