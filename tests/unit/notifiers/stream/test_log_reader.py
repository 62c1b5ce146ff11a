"""Reading the log from wherever a subscriber is."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from clarion.node.errors import StreamError
from clarion.node.events.cursor import Cursor
from clarion.node.events.encoding import EVENT_TYPES, TYPE_NAMES
from clarion.notifiers.stream.filters import EventFilter, StreamEvent
from clarion.notifiers.stream.log_reader import LogReader
from helpers.event_chain import EventChain

BLOCKS = EventFilter(types=frozenset({EVENT_TYPES["block_connected"], EVENT_TYPES["block_disconnected"]}))


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[EventChain]:
    chain = EventChain(tmp_path)
    chain.play([("blocks", 3), ("add", 2), ("reorganise", 1), ("remove", 1), ("blocks", 1)])
    yield chain
    chain.close()


@pytest.fixture
def reader(chain: EventChain) -> LogReader:
    return chain.reader()


def _brief(events: list[StreamEvent]) -> list[tuple[str, int]]:
    return [(TYPE_NAMES[type(told.event)], told.event.height) for told in events]


def test_whole_log_tells_the_reorganisation_block_by_block(reader: LogReader) -> None:
    page = reader.page(reader.start("start"), BLOCKS)
    told = [f"{'+' if name == 'block_connected' else '-'}{height}" for name, height in _brief(page.events)]
    assert told == ["+0", "+1", "+2", "+3", "-3", "+3", "+4", "+5"]
    assert page.is_last


def test_every_cursor_goes_on_with_the_next_event(reader: LogReader) -> None:
    everything = reader.page(reader.start("start"), EventFilter()).events
    for at, told in enumerate(everything):
        rest = reader.page(reader.start(str(told.cursor)), EventFilter()).events
        assert [each.event.id for each in rest] == [each.event.id for each in everything[at + 1 :]]


def test_height_starts_in_front_of_the_block_that_is_in_the_chain_now(chain: EventChain, reader: LogReader) -> None:
    events = reader.page(reader.start("height:3"), BLOCKS).events
    assert _brief(events) == [("block_connected", height) for height in (3, 4, 5)]
    assert events[0].event.block_hash == chain.chain[3].hash


def test_now_has_nothing_behind_it_until_something_happens(chain: EventChain, reader: LogReader) -> None:
    now = reader.start("now")
    assert reader.page(now, EventFilter()).events == []
    chain.play([("blocks", 1)])
    assert _brief(reader.page(now, BLOCKS).events) == [("block_connected", 6)]


def test_cursor_of_another_log_is_refused_with_its_own_code(reader: LogReader) -> None:
    other = replace(reader.start("now"), log="0" * 16)
    assert _refusal(reader, str(other)) == "other-log"


def test_log_that_was_restored_from_an_older_copy_is_noticed(reader: LogReader) -> None:
    now = reader.start("now")
    assert _refusal(reader, str(replace(now, seq=now.seq + 100))) == "unknown-cursor"
    assert _refusal(reader, str(replace(now, height=now.height + 1))) == "unknown-cursor"


def test_height_that_is_not_there_is_refused(reader: LogReader) -> None:
    assert _refusal(reader, "height:99") == "no-such-height"
    assert _refusal(reader, "height:x") == "bad-cursor"
    assert _refusal(reader, "height:" + "9" * 19) == "no-such-height"
    assert _refusal(reader, "height:" + "9" * 5000) == "no-such-height"


def test_what_a_client_has_to_undo_is_listed_down_to_the_fork(chain: EventChain, reader: LogReader) -> None:
    stale = next(each.cursor for each in reader.page(reader.start("start"), BLOCKS).events if each.event.height == 3)
    undo = reader.undo(stale)
    assert undo is not None
    assert (undo["fork_height"], undo["undo"]) == (2, [stale.block_hash[::-1].hex()])
    assert reader.undo(reader.start("now")) is None


def test_depth_leaves_out_a_small_reorganisation(reader: LogReader) -> None:
    wanted = replace(BLOCKS, min_conf=2)
    start = reader.start("start")
    events = reader.page(start, wanted, depth=reader.depth(start, wanted)).events
    assert _brief(events) == [("block_connected", height) for height in range(5)]


def _refusal(reader: LogReader, text: str) -> str:
    with pytest.raises(StreamError) as refused:
        reader.start(text)
    return refused.value.code


def test_page_leaves_rows_for_later(reader: LogReader) -> None:
    first = reader.page(reader.start("start"), EventFilter(), last_seq=2)
    assert first.cursor is not None
    assert first.cursor.seq == 2
    assert isinstance(first.cursor, Cursor)
