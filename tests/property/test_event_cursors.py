"""Random history of a chain and a mempool: whoever resumes from any cursor gets exactly what he missed, once."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clarion.node.events.cursor import Cursor
from clarion.node.events.encoding import EVENT_TYPES
from clarion.node.events.events import BlockConnected, BlockDisconnected, TxConfirmed
from clarion.notifiers.stream.filters import EventFilter, StreamEvent
from clarion.notifiers.stream.log_reader import LogReader
from helpers.event_chain import EventChain, Step

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("blocks"), st.integers(1, 3)),
        st.tuples(st.just("reorganise"), st.integers(1, 4)),
        st.tuples(st.sampled_from(["add", "remove"]), st.integers(1, 3)),
        st.tuples(st.just("reset"), st.just(0)),
    ),
    min_size=1,
    max_size=10,
)
FILTERS = st.builds(
    EventFilter,
    types=st.frozensets(st.sampled_from(sorted(EVENT_TYPES)), min_size=1).map(
        lambda names: frozenset(EVENT_TYPES[name] for name in names)
    ),
    min_value_sat=st.sampled_from([0, 1005]),
    min_conf=st.sampled_from([1, 1, 2, 3]),
)


def _read_all(reader: LogReader, cursor: Cursor, wanted: EventFilter) -> list[StreamEvent]:
    depth = reader.depth(cursor, wanted)
    events: list[StreamEvent] = []
    while True:
        page = reader.page(cursor, wanted, depth=depth)
        assert page.cursor is not None
        events, cursor = events + page.events, page.cursor
        if page.is_last:
            return events


@given(STEPS, FILTERS, st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_cursor_is_followed_by_exactly_what_was_missed(
    steps: list[Step], wanted: EventFilter, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        chain = EventChain(Path(folder)).play([("blocks", 2), *steps])
        try:
            reader = chain.reader()
            everything = _read_all(reader, reader.start("start"), wanted)
            ids = [str(told.event.id) for told in everything]
            assert wanted.min_conf > 1 or len(set(ids)) == len(ids)
            for at in data.draw(st.sets(st.integers(0, max(0, len(ids) - 1)), max_size=8)) if ids else ():
                rest = _read_all(reader, reader.start(str(everything[at].cursor)), wanted)
                assert [str(told.event.id) for told in rest] == ids[at + 1 :]
        finally:
            chain.close()


@given(STEPS, st.integers(1, 4))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_told_at_a_depth_is_the_chain_up_to_there(steps: list[Step], min_conf: int) -> None:
    wanted = EventFilter(types=frozenset({BlockConnected, BlockDisconnected, TxConfirmed}), min_conf=min_conf)
    with tempfile.TemporaryDirectory() as folder:
        chain = EventChain(Path(folder)).play([("blocks", 2), *steps])
        try:
            told: list[bytes] = []
            reader = chain.reader()
            for each in _read_all(reader, reader.start("start"), wanted):
                if isinstance(each.event, BlockConnected):
                    told.append(each.event.block_hash)
                elif isinstance(each.event, BlockDisconnected):
                    assert told.pop() == each.event.block_hash
            deep = [built.hash for built in chain.chain[: len(chain.chain) - min_conf + 1]]
            assert told[: len(deep)] == deep
            assert told == [built.hash for built in chain.chain[: len(told)]]
        finally:
            chain.close()
