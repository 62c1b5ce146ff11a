"""The pipe for rows that are not durable yet: it gives them as they are, and never waits."""

import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import pytest

from clarion.node.events.row import EventKind, EventRow
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.rows import BlockPosition, StoredBlock
from clarion.notifiers.early_pipe import EarlyReceiver, EarlySender


def _row(seq: int, size: int = 100) -> EventRow:
    return EventRow(EventKind.TX_ADDED, BlockHash(b"\x07" * 32), 9, 1_700_000_000, bytes(size), seq, b"\x01" * 32)


class Pipe:
    """Both ends."""

    def __init__(self) -> None:
        self.far: Connection[Any, Any]
        self.far, near = multiprocessing.Pipe(duplex=False)
        self.sender, self.receiver = EarlySender(near), EarlyReceiver(self.far)

    def receive(self) -> list[EventRow | StoredBlock]:
        """Return everything that is there."""
        found = []
        while self.far.poll():
            found += self.receiver.receive()
        return found

    def drain(self) -> list[EventRow]:
        """Return every row that is there."""
        return [message for message in self.receive() if isinstance(message, EventRow)]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.sender.close()
    pipe.far.close()


def test_rows_arrive_as_they_were_sent(pipe: Pipe) -> None:
    rows = [_row(1), EventRow(EventKind.TX_REMOVED, BlockHash(bytes(32)), 0, 1, b"\x00\x01", 2, None, "expiry")]
    assert pipe.sender.send(rows) == 2
    assert pipe.drain() == rows


def test_blocks_come_between_the_rows(pipe: Pipe) -> None:
    block = StoredBlock(BlockHash(b"\x05" * 32), BlockPosition(3, 1 << 40, 1_000_000))
    assert pipe.sender.send([_row(1)]) == 1
    assert pipe.sender.send_block(block)
    assert pipe.sender.send([_row(2)]) == 1
    assert pipe.receive() == [_row(1), block, _row(2)]


def test_a_full_pipe_takes_no_more_until_it_is_read(pipe: Pipe) -> None:
    sent = 0
    while pipe.sender.send([_row(sent + 1, 300_000)]):
        sent += 1
    assert sent > 0
    assert not pipe.sender.send([_row(1000)])
    first = pipe.drain()
    # The rest of the row that the pipe broke off comes before any other row.
    assert pipe.sender.send([_row(1001)])
    rows = first + pipe.drain()
    assert [row.seq for row in rows] == [*range(1, sent + 1), 1001]
    assert all(row == _row(row.seq, 300_000) for row in rows[:-1])


def test_a_closed_pipe_takes_nothing(pipe: Pipe) -> None:
    pipe.sender.close()
    assert not pipe.sender.send([_row(1)])
    with pytest.raises(EOFError):
        pipe.receiver.receive()


def test_a_process_that_is_gone_is_nobodys_error(pipe: Pipe) -> None:
    pipe.far.close()
    assert not pipe.sender.send([_row(1)])
