"""FeeFrac: exact rates, their orders, rounding, and the comparison of diagrams."""

import pytest

from clarion.node.mempool.feefrac import (
    FeeFrac,
    compare_chunks,
    compare_ratio,
    compare_ratio_then_smaller,
    scaled_ratio,
)


def test_sums_and_differences() -> None:
    assert FeeFrac(1000, 100) + FeeFrac(500, 300) == FeeFrac(1500, 400)
    assert FeeFrac(1000, 100) - FeeFrac(500, 300) == FeeFrac(500, -200)
    assert FeeFrac().is_empty
    assert not FeeFrac(0, 1).is_empty


def test_equal_rates_are_not_equal_values() -> None:
    assert FeeFrac(1, 2) != FeeFrac(2, 4)
    assert compare_ratio(FeeFrac(1, 2), FeeFrac(2, 4)) == 0
    assert compare_ratio_then_smaller(FeeFrac(1, 2), FeeFrac(2, 4)) == 1
    with pytest.raises(TypeError):
        sorted([FeeFrac(1, 2), FeeFrac(2, 4)])  # type: ignore[type-var]


def test_rates_differ_by_the_last_satoshi() -> None:
    high, low = FeeFrac(2_100_000_000_000_000, 2**31 - 1), FeeFrac(2_099_999_999_999_999, 2**31 - 1)
    assert compare_ratio(low, high) == -1
    assert scaled_ratio(low.fee, low.size) < scaled_ratio(high.fee, high.size)
    assert scaled_ratio(1, 3) == scaled_ratio(2, 6)
    assert scaled_ratio(-1, 3) < scaled_ratio(-1, 4) < 0


@pytest.mark.parametrize(
    ("fee", "size", "at", "down", "up"),
    [
        (1000, 100, 1, 10, 10),
        (-1001, 100, 1, -11, -10),
        (-1001, 100, 101, -1012, -1011),
        (4_611_686_000_000, 4_000_000, 1, 1_152_921, 1_152_922),
        (0x1FFFFFFFF, 123_456_789, 98_765_432, 6_871_947_728, 6_871_947_729),
        (2_100_000_000_000_000, 2**31 - 1, 1_256_796_054, 1_229_006_664_189_047, 1_229_006_664_189_048),
        (0x7FFFFFFDFFFFFFFB, 0x7FFFFFFD, 0x7FFFFFFF, 2**63 - 1, 2**63),
    ],
)
def test_fees_at_another_size(fee: int, size: int, at: int, down: int, up: int) -> None:
    assert FeeFrac(fee, size).evaluate_fee_down(at) == down
    assert FeeFrac(fee, size).evaluate_fee_up(at) == up


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ([], [], 0),
        ([(1, 1)], [], 1),
        ([(0, 1)], [], 0),
        ([(950, 300), (100, 100)], [(1000, 300)], None),
        ([(950, 300), (100, 100)], [(1000, 300), (0, 100)], None),
        ([(1000, 300), (50, 100)], [(1000, 300), (0, 100)], 1),
        ([(950, 300), (30, 100), (100, 200)], [(1000, 300), (0, 100)], None),
        ([(10, 10)], [(5, 5), (5, 5)], 0),
        ([(10, 1)], [(10, 1), (-5, 1)], 1),
    ],
)
def test_diagrams(left: list[tuple[int, int]], right: list[tuple[int, int]], result: int | None) -> None:
    chunks = [FeeFrac(*each) for each in left], [FeeFrac(*each) for each in right]
    assert compare_chunks(*chunks) == result
    assert compare_chunks(*reversed(chunks)) == (None if result is None else -result)
