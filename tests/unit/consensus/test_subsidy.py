"""The block subsidy and its sum."""

import pytest

from clarion.node.consensus.constants import MAX_MONEY, format_money
from clarion.node.consensus.subsidy import block_subsidy
from clarion.node.params.chain_params import select_params

INITIAL = 50 * 100_000_000
MAIN = select_params("main")


@pytest.mark.parametrize(
    ("height", "subsidy"),
    [(0, INITIAL), (209_999, INITIAL), (210_000, INITIAL // 2), (420_000, INITIAL // 4), (6_930_000, 0)],
)
def test_subsidy_halves(height: int, subsidy: int) -> None:
    assert block_subsidy(height, MAIN) == subsidy


def test_subsidy_ends_with_the_64th_halving() -> None:
    assert block_subsidy(210_000 * 32, MAIN) == 1
    assert block_subsidy(210_000 * 64, MAIN) == 0
    assert block_subsidy(210_000 * 1000, MAIN) == 0


def test_all_subsidies_stay_below_21_million() -> None:
    total = sum(block_subsidy(height, MAIN) * 1000 for height in range(0, 14_000_000, 1000))
    assert total == 2_099_999_997_690_000
    assert total < MAX_MONEY == 21_000_000 * 100_000_000


def test_regtest_halves_every_150_blocks() -> None:
    assert block_subsidy(149, select_params("regtest")) == INITIAL
    assert block_subsidy(150, select_params("regtest")) == INITIAL // 2


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0.00"), (1, "0.00000001"), (123_456_789, "1.23456789"), (10**8, "1.00"), (-150_000_000, "-1.50")],
)
def test_money_has_at_least_two_decimals(amount: int, text: str) -> None:
    assert format_money(amount) == text
