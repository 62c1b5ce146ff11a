"""Cursors as text."""

import pytest

from clarion.node.errors import StreamError
from clarion.node.events.cursor import WHOLE_ROW, Cursor, cursor_at, log_start, parse_cursor
from clarion.node.events.row import EventKind, EventRow
from clarion.node.primitives.ids import BlockHash

LOG = "00112233445566ff"


def test_text_names_log_place_and_block_as_people_write_it() -> None:
    cursor = Cursor(LOG, 12, 3, 100, BlockHash(bytes(range(32))))
    assert str(cursor) == f"{LOG}:12.3:100:{bytes(range(32))[::-1].hex()}"
    assert parse_cursor(str(cursor)) == cursor


def test_start_and_whole_row_survive_the_way_through_text() -> None:
    row = EventRow(EventKind.TIP_CHANGED, BlockHash(b"\x01" * 32), 5, 0, seq=9)
    for cursor in (log_start(LOG), cursor_at(LOG, row)):
        assert parse_cursor(str(cursor)) == cursor
        assert cursor.index == WHOLE_ROW


@pytest.mark.parametrize(
    "text",
    ["", "now", f"{LOG}:1.0:5", f"{LOG}:x.0:5:{'0' * 64}", f"{LOG}:1.0:-2:{'0' * 64}", f"{LOG}:1.0:5:{'0' * 63}"],
)
def test_what_is_no_cursor_is_refused_with_its_own_code(text: str) -> None:
    with pytest.raises(StreamError) as refused:
        parse_cursor(text)
    assert refused.value.code == "bad-cursor"
