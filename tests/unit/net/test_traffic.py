"""The account of what may be sent in a day."""

from clarion.node.net.traffic import TIMEFRAME_S, Traffic

MB = 1_000_000


def test_without_a_limit() -> None:
    traffic = Traffic(0, lambda: 1_000_000)
    traffic.add_received(5)
    traffic.add_sent(10**12)
    assert (traffic.received, traffic.sent, traffic.bytes_left, traffic.time_left_s) == (5, 10**12, 0, 0)
    assert not traffic.is_exhausted
    assert traffic.serves_old_blocks


def test_a_limit_is_for_a_day() -> None:
    now = 1_000_000
    traffic = Traffic(800 * MB, lambda: now)
    assert traffic.time_left_s == TIMEFRAME_S
    traffic.add_sent(800 * MB)
    assert traffic.is_exhausted
    assert traffic.bytes_left == 0
    now += TIMEFRAME_S + 1
    assert traffic.time_left_s == 0
    traffic.add_sent(MB)
    assert (traffic.bytes_left, traffic.time_left_s, traffic.sent) == (799 * MB, TIMEFRAME_S, 801 * MB)


def test_new_blocks_have_their_share_before_old_ones() -> None:
    now = 1_000_000
    traffic = Traffic(144 * 4 * MB + 10 * MB, lambda: now)
    traffic.add_sent(9 * MB)
    assert traffic.serves_old_blocks
    traffic.add_sent(MB)
    assert not traffic.serves_old_blocks
    # Two blocks later less has to be kept.
    now += 1_200
    assert traffic.serves_old_blocks
    assert not Traffic(MB, lambda: now).serves_old_blocks
