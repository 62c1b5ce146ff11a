"""The rolling minimum fee rate: it rises with evictions and decays once a block has come."""

from clarion.node.chain.clock import Clock
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.rolling_fee import HALF_LIFE_S, RollingFee

START = 1_700_000_000
LIMIT = 1_000_000


def rising() -> tuple[Clock, RollingFee]:
    clock = Clock(START)
    fee = RollingFee(clock, FeeRate(100))
    fee.evicted(FeeRate(10_000))
    return clock, fee


def test_it_stays_until_a_block_comes() -> None:
    clock, fee = rising()
    clock.set_mock(START + HALF_LIFE_S)
    assert fee.rate(LIMIT, LIMIT) == FeeRate(10_000)
    fee.evicted(FeeRate(9_000))
    assert fee.rate(LIMIT, LIMIT) == FeeRate(10_000)


def test_it_halves_in_twelve_hours_and_faster_in_an_empty_pool() -> None:
    clock, fee = rising()
    fee.block_connected()
    clock.set_mock(START + HALF_LIFE_S)
    assert fee.rate(LIMIT, LIMIT) == FeeRate(5_000)
    clock.set_mock(START + HALF_LIFE_S * 5 // 4)
    assert fee.rate(0, LIMIT) == FeeRate(2_500)
    clock.set_mock(START + HALF_LIFE_S * 7 // 4)
    assert fee.rate(LIMIT // 3, LIMIT) == FeeRate(1_250)


def test_it_falls_to_the_incremental_rate_and_then_to_nothing() -> None:
    clock, fee = rising()
    fee.block_connected()
    clock.set_mock(START + HALF_LIFE_S * 7)
    assert fee.rate(LIMIT, LIMIT) == FeeRate(100)
    clock.set_mock(START + HALF_LIFE_S * 9)
    assert fee.rate(LIMIT, LIMIT) == FeeRate(0)
