"""The bench's clock: what it wraps is there, and its arithmetic of overlapping times."""

import pytest

from bench.stage_clock import TIMED, common_time


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for _, owner, name in TIMED], ids=lambda value: str(value))
def test_what_is_timed_exists(owner: object, name: str) -> None:
    assert callable(getattr(owner, name))
    assert name in vars(owner)


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        ([(0.0, 1.0)], [(1.0, 2.0)], 0.0),
        ([(0.0, 4.0)], [(1.0, 2.0), (1.5, 3.0)], 2.0),
        ([(0.0, 1.0), (2.0, 3.0)], [(0.5, 2.5)], 1.0),
        ([(0.0, 2.0), (1.0, 3.0)], [(0.0, 3.0)], 3.0),
    ],
    ids=["apart", "two that overlap", "gap", "double"],
)
def test_time_in_common(left: list[tuple[float, float]], right: list[tuple[float, float]], common: float) -> None:
    assert common_time(left, right) == pytest.approx(common)
