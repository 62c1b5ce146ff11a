"""What other clocks say."""

from clarion.node.net.time_offsets import TimeOffsets


def test_the_median_counts_from_five_on() -> None:
    offsets = TimeOffsets()
    for seconds in (900, -5, 700, 650):
        offsets.add(seconds)
    assert (offsets.median_s, offsets.warning) == (0, "")
    offsets.add(660)
    assert offsets.median_s == 660
    assert "more than 10 minutes out of sync" in offsets.warning


def test_old_ones_are_forgotten() -> None:
    offsets = TimeOffsets()
    for _ in range(50):
        offsets.add(-601)
    assert offsets.warning
    for _ in range(50):
        offsets.add(1)
    assert (offsets.median_s, offsets.warning) == (1, "")
