"""Marks lead from a counter back into the log."""

from clarion.notifiers.topic_marks import ROWS_A_MARK, TopicMarks

FIRST, SECOND = ("rawtx", "tcp://a"), ("rawtx", "tcp://b")


def _marks() -> TopicMarks:
    marks = TopicMarks()
    marks.note(1, {FIRST: 0, SECOND: 5})
    marks.note(40, {FIRST: 10, SECOND: 15})
    return marks


def test_mark_in_front_of_the_message_is_found() -> None:
    assert _marks().find("rawtx", None, 9) == (1, 0)
    assert _marks().find("rawtx", None, 10) == (40, 10)
    assert _marks().find("rawtx", "tcp://b", 16) == (40, 15)


def test_message_of_an_earlier_run_or_another_topic_is_unknown() -> None:
    assert _marks().find("rawtx", "tcp://b", 4) is None
    assert _marks().find("hashtx", None, 0) is None
    assert TopicMarks().find("rawtx", None, 0) is None


def test_marks_are_noted_every_so_many_rows() -> None:
    marks = _marks()
    assert not marks.is_due(40 + ROWS_A_MARK - 1)
    assert marks.is_due(40 + ROWS_A_MARK)
