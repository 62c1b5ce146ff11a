"""Subscribers that share one reading of the log: each hears what his own reading would tell him, once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.events.events import BlockConnected, TxAdded, TxConfirmed
from clarion.node.events.expand import ALL_EVENTS
from clarion.notifiers.stream.filters import EventFilter
from clarion.notifiers.stream.news import News
from helpers.event_chain import EventChain

FILTERS = {
    "all": EventFilter(types=ALL_EVENTS),
    "blocks": EventFilter(types=frozenset({BlockConnected})),
    "large": EventFilter(types=frozenset({TxConfirmed, TxAdded}), min_value_sat=1004),
}


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[EventChain]:
    made = EventChain(tmp_path).play([("blocks", 2), ("add", 2)])
    yield made
    made.close()


def test_each_hears_what_his_own_reading_would_tell(chain: EventChain) -> None:
    reader = chain.reader()
    news: News[str] = News(reader)
    start = reader.now()
    for name, wanted in FILTERS.items():
        assert news.admit(name, start, wanted, frozenset())
    chain.play([("add", 3), ("blocks", 2), ("reorganise", 1)])
    heard: dict[str, list[str]] = {name: [] for name in FILTERS}
    for told, who in news.read():
        for name in who:
            heard[name].append(str(told.event.id))
    for name, wanted in FILTERS.items():
        assert heard[name] == [str(told.event.id) for told in reader.page(start, wanted).events]
    assert all(heard.values())
    assert news.place_of("blocks", start) == reader.now()


def test_who_comes_later_hears_nothing_twice_and_who_is_behind_reads_on_first(chain: EventChain) -> None:
    reader = chain.reader()
    news: News[str] = News(reader)
    early = reader.now()
    assert news.admit("early", early, FILTERS["all"], frozenset())
    chain.play([("blocks", 1)])
    late = reader.now()
    assert news.admit("late", late, FILTERS["all"], frozenset())
    assert {name for _, who in news.read() for name in who} == {"early"}
    assert not news.admit("behind", early, FILTERS["all"], frozenset())


def test_who_is_dropped_while_news_is_read_hears_no_more(chain: EventChain) -> None:
    reader = chain.reader()
    news: News[str] = News(reader)
    news.admit("a", reader.now(), FILTERS["all"], frozenset())
    chain.play([("blocks", 2)])
    heard = 0
    for _ in news.read():
        heard += 1
        assert news.drop("a")
    assert heard == 1
    assert not news.drop("a")
