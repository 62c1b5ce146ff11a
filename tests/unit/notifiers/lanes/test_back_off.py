"""Pauses between attempts."""

import random

from clarion.notifiers.lanes.back_off import JITTER, BackOff


def test_pauses_follow_the_schedule_and_repeat_its_end() -> None:
    back_off = BackOff([1.0, 10.0], random.Random(1))
    pauses = [back_off.next_pause_s() for _ in range(4)]
    for pause, planned in zip(pauses, (1.0, 10.0, 10.0, 10.0), strict=True):
        assert planned * (1 - JITTER) <= pause <= planned * (1 + JITTER)
    assert back_off.attempts == 4
    back_off.reset()
    assert back_off.next_pause_s() < 2


def test_two_lanes_do_not_wait_equally_long() -> None:
    one, two = BackOff([5.0], random.Random(1)), BackOff([5.0], random.Random(2))
    assert one.next_pause_s() != two.next_pause_s()


def test_a_receiver_can_ask_for_more_patience_but_not_for_less() -> None:
    assert BackOff([1.0]).next_pause_s(60.0) == 60.0
    assert BackOff([100.0]).next_pause_s(1.0) > 50
