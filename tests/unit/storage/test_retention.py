"""Old rows of the mempool leave the log, and nothing else."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from clarion.node.events.row import EventKind
from clarion.notifiers.feed import Feed
from clarion.notifiers.source import StoredEvents
from clarion.notifiers.stream.filters import EventFilter
from helpers.event_chain import EventChain

FAR_FUTURE = int(time.time()) + 1_000_000


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[EventChain]:
    chain = EventChain(tmp_path).play([("blocks", 2), ("add", 3), ("reorganise", 1), ("remove", 2), ("add", 1)])
    chain.reader()
    yield chain
    chain.close()


def test_rows_of_the_chain_stay_and_so_does_the_last_number(chain: EventChain) -> None:
    before, last = chain.node.rows(), chain.node.database.chain.last_seq
    while chain.node.database.retention.step(FAR_FUTURE, last):
        pass
    kept = chain.node.rows()
    assert [row for row in kept[:-1] if row.kind >= EventKind.TX_ADDED] == []
    assert [row for row in before if row.kind < EventKind.TX_ADDED] == [r for r in kept if r.kind < EventKind.TX_ADDED]
    assert kept[-1].seq == last


def test_young_rows_stay(chain: EventChain) -> None:
    before = chain.node.rows()
    assert not chain.node.database.retention.step(int(time.time()) - 3600, chain.node.database.chain.last_seq)
    assert chain.node.rows() == before
    assert chain.node.database.events.mempool_floor() == 0


def test_cursor_from_before_hears_of_the_gap_and_of_every_block(chain: EventChain) -> None:
    reader = chain.reader()
    start = reader.start("start")
    blocks = [told.event.id for told in reader.page(start, EventFilter(min_conf=1)).events if told.tx is None]
    cursor = next(told.cursor for told in reader.page(start, EventFilter()).events if told.cursor.seq == 3)
    chain.node.database.retention.step(FAR_FUTURE, chain.node.database.chain.last_seq)
    assert reader.gap(cursor, EventFilter()) == chain.node.database.events.mempool_floor() > cursor.seq
    assert reader.gap(cursor, replace(EventFilter(), types=frozenset())) == 0
    left = [told.event.id for told in reader.page(start, EventFilter()).events]
    assert [each for each in left if each in blocks] == [each for each in blocks if each in left]
    assert reader.start(str(cursor)) == cursor


def test_lanes_read_over_the_gaps(chain: EventChain) -> None:
    chain.node.database.retention.step(FAR_FUTURE, chain.node.database.chain.last_seq)
    seqs = [row.seq for row in chain.node.rows()]
    feed = Feed(StoredEvents(chain._reader))
    told: list[int] = []
    for limit in (2, 3, 100):
        told += [event.row.seq for event in feed.read(told[-1] if told else 0, limit)]
    assert told == seqs
    assert [event.row.seq for event in feed.read(seqs[1], 2)] == seqs[2:4]
