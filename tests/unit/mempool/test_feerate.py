"""Fee rates: rounding, comparison, text."""

import pytest

from clarion.node.mempool.feerate import FeeRate


@pytest.mark.parametrize(
    ("rate", "vsize", "fee"),
    [
        (0, 100_000, 0),
        (1000, 121, 121),
        (-1000, 999, -999),
        (123, 0, 0),
        (123, 8, 1),
        (123, 9, 2),
        (123, 121, 15),
        (123, 122, 16),
        (123, 9000, 1107),
        (-123, 8, -1),
        (-123, 9, -1),
    ],
)
def test_fee_is_rounded_up(rate: int, vsize: int, fee: int) -> None:
    assert FeeRate(rate).fee(vsize) == fee


def test_rates_keep_their_fraction() -> None:
    assert FeeRate(0) < FeeRate(1, 1001) < FeeRate(1)
    assert FeeRate(32) < FeeRate(26, 789) < FeeRate(33)
    assert FeeRate(26, 789).sat_per_kvb == 32
    assert FeeRate(26, 789).fee(789) == 26


def test_rates_compare_by_their_quotient() -> None:
    assert FeeRate(2) == FeeRate(2, 1000) == FeeRate(4, 2000)
    assert FeeRate(3) >= FeeRate(6, 2000) >= FeeRate(2)
    assert FeeRate(2) != FeeRate(3)


@pytest.mark.parametrize("vsize", [0, -1000])
def test_the_rate_of_nothing_demands_nothing(vsize: int) -> None:
    empty = FeeRate(-1, vsize)
    assert empty.fee(1000) == 0
    assert empty.sat_per_kvb == 0
    assert empty == FeeRate(0)


def test_sums_and_multiples() -> None:
    assert FeeRate(1) + FeeRate(1) == FeeRate(2)
    # Each summand is rounded down first.
    assert FeeRate(1999, 2000) + FeeRate(1) == FeeRate(1000)
    assert FeeRate(1000) * -3 == FeeRate(-3000)


def test_text_is_in_coins_per_kvb() -> None:
    assert str(FeeRate(1)) == "0.00000001 BTC/kvB"
    assert str(FeeRate(250_000_000, 1000)) == "2.50000000 BTC/kvB"
