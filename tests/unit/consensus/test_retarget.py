"""Which target the next block must have: retargets and the exceptions of the test networks."""

import pytest

from clarion.node.consensus.pow import next_work_required, permitted_difficulty_transition
from clarion.node.params.chain_params import select_params
from helpers.positions import Position, chain

INTERVAL = 2016
SPACING = 600
LIMIT_BITS = 0x1D00FFFF
MAIN, TEST, TESTNET4 = select_params("main"), select_params("test"), select_params("testnet4")
REGTEST = select_params("regtest")


class Period(Position):
    """The last block of a retarget period, with the time of its first one."""

    def __init__(self, height: int, first_time: int, last_time: int, bits: int, first_bits: int = 0) -> None:
        super().__init__(time=last_time, bits=bits, height=height)
        self.first = Position(time=first_time, bits=first_bits or bits, height=height - (INTERVAL - 1))

    def ancestor(self, height: int) -> Position | None:
        return self.first if height == self.first.height else None


@pytest.mark.parametrize(
    ("height", "first", "last", "bits", "expected"),
    [
        pytest.param(32255, 1261130161, 1262152739, 0x1D00FFFF, 0x1D00D86A, id="no-limit"),
        pytest.param(2015, 1231006505, 1233061996, 0x1D00FFFF, 0x1D00FFFF, id="pow-limit"),
        pytest.param(68543, 1279008237, 1279297671, 0x1C05A3F4, 0x1C0168FD, id="quarter"),
        pytest.param(46367, 1263163443, 1269211443, 0x1C387F6F, 0x1D00E1FD, id="fourfold"),
    ],
)
def test_mainnet_retargets(height: int, first: int, last: int, bits: int, expected: int) -> None:
    period = Period(height, first, last, bits)
    assert next_work_required(period, last + SPACING, MAIN) == expected
    assert permitted_difficulty_transition(MAIN, height + 1, bits, expected)


def test_transition_beyond_a_factor_of_four_is_not_permitted() -> None:
    assert not permitted_difficulty_transition(MAIN, 68544, 0x1C05A3F4, 0x1C0168FD - 1)
    assert not permitted_difficulty_transition(MAIN, 46368, 0x1C387F6F, 0x1D00E1FD + 1)


def test_transition_inside_a_period_is_not_permitted() -> None:
    assert permitted_difficulty_transition(MAIN, 2017, 0x1C05A3F4, 0x1C05A3F4)
    assert not permitted_difficulty_transition(MAIN, 2017, 0x1C05A3F4, 0x1C05A3F5)
    assert permitted_difficulty_transition(TEST, 2017, 0x1C05A3F4, 0x1D00FFFF)


def test_inside_a_period_mainnet_keeps_the_target() -> None:
    prev = chain(3, bits=0x1C05A3F4)
    assert next_work_required(prev, prev.time + 99_999, MAIN) == 0x1C05A3F4


@pytest.mark.parametrize("params", [TEST, TESTNET4], ids=["testnet3", "testnet4"])
def test_testnet_block_twenty_minutes_late_has_the_lowest_difficulty(params: object) -> None:
    prev = chain(3, bits=0x1C05A3F4)
    assert next_work_required(prev, prev.time + 2 * SPACING + 1, params) == LIMIT_BITS  # type: ignore[arg-type]
    assert next_work_required(prev, prev.time + 2 * SPACING, params) == 0x1C05A3F4  # type: ignore[arg-type]


def test_testnet_goes_on_from_the_last_real_difficulty() -> None:
    real = chain(5, bits=0x1C05A3F4)
    prev = chain(3, real, bits=LIMIT_BITS)
    assert next_work_required(prev, prev.time + SPACING, TEST) == 0x1C05A3F4


def test_testnet_looks_back_to_the_start_of_the_period_only() -> None:
    before = Position(bits=0x1C05A3F4, height=INTERVAL - 1)
    prev = chain(3, before, bits=LIMIT_BITS)
    assert next_work_required(prev, prev.time + SPACING, TEST) == LIMIT_BITS


def test_bip94_retargets_from_the_first_block_of_the_period() -> None:
    # The last block used the exception; testnet3 forgets the real difficulty, testnet4 keeps it.
    period = Period(INTERVAL - 1, 1_600_000_000, 1_600_000_000 + INTERVAL * SPACING, LIMIT_BITS, 0x1C05A3F4)
    assert next_work_required(period, period.time + SPACING, TEST) == LIMIT_BITS
    assert next_work_required(period, period.time + SPACING, TESTNET4) == 0x1C05A3F4


def test_regtest_never_retargets() -> None:
    prev = chain(144, bits=0x207FFFFF, spacing=1)
    assert prev.height == 143
    assert next_work_required(prev, prev.time + 1, REGTEST) == 0x207FFFFF
