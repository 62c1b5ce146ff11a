"""Messages of Core's topics again: each under its own counter, or none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.errors import StreamError
from clarion.notifiers.topic_marks import TopicMarks
from clarion.notifiers.topic_replay import missed_messages
from helpers.event_chain import EventChain

FAR_FUTURE = 1 << 40
ADDRESS = "tcp://127.0.0.1:28332"


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[EventChain]:
    chain = EventChain(tmp_path).play([("blocks", 2), ("add", 4), ("blocks", 1)])
    yield chain
    chain.close()


def _ask(chain: EventChain, seq: int, counter: int) -> list[bytes]:
    """Return the bodies of `hashtx` from `counter` on, where row `seq` was told first, under counter 0."""
    marks = TopicMarks()
    marks.note(seq, {("hashtx", ADDRESS): 0})
    fields = {"topic": "hashtx", "counter": counter, "count": 4}
    return [body for _, body, _ in missed_messages(fields, marks, chain.reader())]


def _first_added(chain: EventChain) -> int:
    rows = chain.reader().rows(0, 100)
    return next(row.seq for row in rows if row.kind.name == "TX_ADDED")


def test_messages_have_the_counters_of_their_rows(chain: EventChain) -> None:
    seq = _first_added(chain)
    assert _ask(chain, seq, 0)[1:] == _ask(chain, seq, 1)[:3]


def test_rows_that_retention_has_deleted_do_not_shift_the_counters_of_others(chain: EventChain) -> None:
    seq, last = _first_added(chain), chain.node.database.chain.last_seq
    while chain.node.database.retention.step(FAR_FUTURE, last):
        pass
    with pytest.raises(StreamError, match="unknown-counter"):
        _ask(chain, seq, 1)
