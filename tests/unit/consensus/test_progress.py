"""The estimate of verification progress."""

from clarion.node.consensus.progress import guess_verification_progress
from clarion.node.params.chain_params import select_params

MAIN, REGTEST = select_params("main"), select_params("regtest")
NOW = 1772055173 + 86_400
RATE = 5.40111006496122


def test_unknown_count_is_no_progress() -> None:
    assert guess_verification_progress(0, NOW, 0, NOW, MAIN) == 0.0


def test_early_blocks_are_measured_by_known_counts() -> None:
    expected = 1_000_000 / (1_315_805_869 + 86_400 * RATE)
    assert guess_verification_progress(1_000_000, 1_300_000_000, 900_000, NOW, MAIN) == expected


def test_later_blocks_are_measured_by_the_rate() -> None:
    count = 1_400_000_000
    expected = count / (count + 10_000 * RATE)
    assert guess_verification_progress(count, NOW - 10_000, 0, NOW, MAIN) == expected


def test_recent_tip_is_complete() -> None:
    assert guess_verification_progress(1_400_000_000, NOW - 7200, 0, NOW, MAIN) == 1.0
    behind = guess_verification_progress(1_400_000_000, NOW - 7200, 3, NOW, MAIN)
    assert behind == 1_400_000_000 / (1_400_000_000 + 3 * 600 * RATE)


def test_clock_far_in_the_past_is_survived() -> None:
    assert guess_verification_progress(1, 1_001_000, -1, 1_000_000, REGTEST) == 1.0
