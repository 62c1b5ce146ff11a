"""Messages of Core's topics again, for a subscriber who saw a gap in a counter.

Owns: finding and making them from the log. Never: sockets.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from clarion.node.errors import StreamError
from clarion.node.events.row import EventRow
from clarion.node.primitives.block import Block
from clarion.notifiers.stream.log_reader import LogReader
from clarion.notifiers.topic_marks import TopicMarks
from clarion.notifiers.zmq_address import TOPICS
from clarion.notifiers.zmq_core import topic_bodies

MAX_MESSAGES = 100_000
_ROWS_A_READ = 256


class _StoredEvent:
    """A row with its block (a `LoggedEvent`)."""

    def __init__(self, row: EventRow, log: LogReader) -> None:
        self.row = row
        self.log_id = log.log_id
        self._log = log

    def block(self) -> Block:
        return self._log.blocks.block(self.row.block_hash)


def missed_messages(fields: Mapping[str, Any], marks: TopicMarks, log: LogReader) -> Iterator[list[bytes]]:
    """Yield [topic, body, counter] of the messages that `topic`, `counter`, `count` (and `address`) name, in order.

    Messages whose rows are not durable yet are left out at the end: ask again. Raises StreamError `bad-request`,
    `unknown-counter` for messages of an earlier run of the events process, StorageError.
    """
    topic, address = fields.get("topic"), fields.get("address")
    counter, count = fields.get("counter"), fields.get("count", 1)
    if topic not in TOPICS or not isinstance(counter, int) or not isinstance(count, int) or set(fields) - _FIELDS:
        raise StreamError(
            "bad-request", f"topic ({', '.join(TOPICS)}), counter, count and address are what is asked for"
        )
    if not 0 < count <= MAX_MESSAGES:
        raise StreamError("bad-request", f"count is from 1 to {MAX_MESSAGES}")
    found = marks.find(topic, address, counter)
    if found is None:
        raise _unknown()
    return _messages(log, topic, found, counter, counter + count)


def _unknown() -> StreamError:
    return StreamError("unknown-counter", "that message was not sent by this run, or is too long ago: use a cursor")


_FIELDS = frozenset(("topic", "address", "counter", "count"))


def _messages(log: LogReader, topic: str, mark: tuple[int, int], first: int, end: int) -> Iterator[list[bytes]]:
    seq, at = mark
    after = seq - 1
    while rows := log.rows(after, _ROWS_A_READ):
        if log.mempool_floor() > after:
            # Without the rows that retention has deleted, messages would come under others' counters.
            raise _unknown()
        for row in rows:
            for body in topic_bodies(_StoredEvent(row, log), topic):
                if at >= end:
                    return
                if at >= first:
                    yield [topic.encode(), body, at.to_bytes(4, "little")]
                at += 1
        after = rows[-1].seq
