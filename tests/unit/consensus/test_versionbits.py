"""The state machine of signalled soft forks (BIP9)."""

import pytest

from clarion.node.consensus.unknown_rules import UnknownRules
from clarion.node.consensus.versionbits import SignalStatistics, ThresholdState, VersionBits, signals
from clarion.node.params.chain_params import ChainParams, VersionBitsOptions, select_params
from helpers.positions import Position, chain

PERIOD, THRESHOLD, BIT = 144, 108, 28
SIGNAL, SILENT = 0x20000000 | 1 << BIT, 0x20000000
START = 1_600_000_000
NEVER = 2**63 - 1


def params(start: int = START, timeout: int = NEVER, min_height: int = 0) -> ChainParams:
    return select_params("regtest", vbparams={"testdummy": VersionBitsOptions(start, timeout, min_height)})


def period(prev: Position | None, signalling: int = 0) -> Position:
    last = chain(PERIOD - signalling, prev, version=SILENT, time=START + 600) if signalling < PERIOD else prev
    return chain(signalling, last, version=SIGNAL, time=START + 600) if signalling else last  # type: ignore[return-value]


def states(last: Position, bits: VersionBits) -> list[str]:
    """Return the state of each period up to the one that follows `last`."""
    ends = [last.ancestor(height) for height in range(PERIOD - 1, last.height + 1, PERIOD)]
    return [bits.state(end, "testdummy").value for end in [None, *ends]]


def test_from_defined_to_active() -> None:
    last = period(period(period(period(None)), THRESHOLD))
    assert states(last, VersionBits(params())) == ["defined", "started", "started", "locked_in", "active"]


def test_one_signal_too_few_does_not_lock_in() -> None:
    last = period(period(None), THRESHOLD - 1)
    assert states(last, VersionBits(params()))[-1] == "started"


def test_lock_in_wins_over_the_timeout() -> None:
    last = period(period(None), THRESHOLD)
    assert states(last, VersionBits(params(timeout=START)))[-1] == "locked_in"


def test_timeout_fails_for_good() -> None:
    last = period(period(period(period(None)), THRESHOLD), THRESHOLD)
    assert states(last, VersionBits(params(timeout=START)))[2:] == ["failed", "failed", "failed"]


def test_start_is_measured_by_median_time() -> None:
    last = period(None)
    assert VersionBits(params(start=last.median_time_past())).state(last, "testdummy") is ThresholdState.STARTED
    assert VersionBits(params(start=last.median_time_past() + 1)).state(last, "testdummy") is ThresholdState.DEFINED


def test_minimum_height_delays_activation_by_whole_periods() -> None:
    last = period(period(period(period(None), THRESHOLD)))
    bits = VersionBits(params(min_height=3 * PERIOD + 1))
    assert states(last, bits) == ["defined", "started", "locked_in", "locked_in", "active"]


@pytest.mark.parametrize(("start", "state"), [(-1, "active"), (-2, "failed")], ids=["always", "never"])
def test_special_start_times(start: int, state: str) -> None:
    bits = VersionBits(params(start=start))
    assert bits.state(None, "testdummy").value == state
    assert bits.state_since_height(chain(3), "testdummy") == 0


def test_all_blocks_of_a_period_share_a_state() -> None:
    last = period(period(None), THRESHOLD)
    bits = VersionBits(params())
    for position in (last, chain(1, last), chain(PERIOD - 1, last)):
        assert bits.state(position, "testdummy") is ThresholdState.LOCKED_IN
        assert bits.state_since_height(position, "testdummy") == 2 * PERIOD


def test_since_goes_back_over_equal_periods() -> None:
    last = period(period(period(None)))
    assert VersionBits(params()).state_since_height(last, "testdummy") == PERIOD


def test_statistics_of_a_started_period() -> None:
    tip = chain(3, chain(2, period(None), version=SILENT), version=SIGNAL)
    info = VersionBits(params()).info(tip, "testdummy")
    assert (info.state, info.next_state, info.since) == (ThresholdState.STARTED, ThresholdState.STARTED, PERIOD)
    assert info.statistics == SignalStatistics(PERIOD, THRESHOLD, elapsed=5, count=3, possible=True)
    assert info.signalling == (False, False, True, True, True)
    assert info.active_since is None


def test_too_many_silent_blocks_make_it_impossible() -> None:
    tip = chain(PERIOD - THRESHOLD + 1, period(None), version=SILENT)
    statistics = VersionBits(params()).info(tip, "testdummy").statistics
    assert statistics is not None
    assert not statistics.possible


def test_info_of_a_locked_in_deployment_has_no_threshold() -> None:
    locked = period(period(None), THRESHOLD)
    info = VersionBits(params()).info(period(locked), "testdummy")
    assert info.statistics is not None
    assert (info.statistics.threshold, info.statistics.possible) == (0, False)
    assert (info.next_state, info.active_since) == (ThresholdState.ACTIVE, 3 * PERIOD)


def test_info_of_an_active_deployment() -> None:
    tip = chain(1, period(period(period(None), THRESHOLD)))
    info = VersionBits(params()).info(tip, "testdummy")
    assert (info.state, info.active_since, info.statistics) == (ThresholdState.ACTIVE, 3 * PERIOD, None)


def test_new_blocks_signal_until_activation() -> None:
    bits = VersionBits(params())
    started = period(None)
    locked = period(started, THRESHOLD)
    versions = [bits.block_version(prev) for prev in (None, started, locked, period(locked))]
    assert versions == [SILENT, SIGNAL, SIGNAL, SILENT]


@pytest.mark.parametrize(
    ("version", "expected"),
    [(SIGNAL, True), (SILENT, False), (1 << BIT, False), (0x60000000 | 1 << BIT, False), (-1, False)],
    ids=["signal", "silent", "no-top-bits", "other-top-bits", "negative"],
)
def test_what_counts_as_a_signal(version: int, expected: bool) -> None:
    assert signals(version, 1 << BIT) is expected


def test_unknown_rules_are_noticed() -> None:
    last = chain(PERIOD, period(None), version=0x20000000 | 1 << 3 | 1 << 5)
    rules = UnknownRules(params(start=-2))
    assert rules.activations(last) == [(3, False)]
    assert rules.activations(period(last)) == [(3, True)]
    assert rules.activations(period(period(last))) == [(3, True)]


def test_known_rules_are_no_surprise() -> None:
    assert UnknownRules(params()).activations(period(period(None), PERIOD)) == []


def test_unknown_rules_need_a_majority_behind_the_first_period() -> None:
    signal = 0x20000000 | 1 << 3
    in_first_period = chain(PERIOD, None, version=signal)
    assert UnknownRules(params(start=-2)).activations(in_first_period) == []
    too_few = chain(PERIOD * 3 // 4 - 1, period(None), version=signal)
    assert UnknownRules(params(start=-2)).activations(chain(PERIOD // 4 + 1, too_few)) == []
