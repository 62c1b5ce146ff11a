"""News for all subscribers of a thread: the log is read once, and one index says who wants what.

Owns: the shared place in the log, handing over from a subscriber's own reading. Never: sockets, encoding, waiting.
"""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from clarion.node.events.cursor import Cursor
from clarion.notifiers.stream.filter_index import FilterIndex
from clarion.notifiers.stream.filters import EventFilter, StreamEvent
from clarion.notifiers.stream.log_reader import LogReader

Who = TypeVar("Who", bound=Hashable)

SPENT = frozenset(("spent",))


class News(Generic[Who]):
    """Subscribers that have read the log to its end. Not thread-safe."""

    def __init__(self, log: LogReader) -> None:
        self._log = log
        self._index: FilterIndex[Who] = FilterIndex()
        self._admitted: dict[Who, tuple[Cursor, frozenset[str]]] = {}
        self._cursor: Cursor | None = None
        """Everything up to here was offered to those who are admitted."""

    def __contains__(self, who: Who) -> bool:
        return who in self._admitted

    def admit(self, who: Who, cursor: Cursor, wanted: EventFilter, details: frozenset[str]) -> bool:
        """Let a subscriber who has everything up to `cursor` hear the news; False if he has to read on first."""
        if self._cursor is None or not self._admitted:
            self._cursor = cursor
        if cursor.seq < self._cursor.seq:
            return False
        self._admitted[who] = cursor, details
        self._index.add(who, wanted)
        return True

    def drop(self, who: Who) -> bool:
        """Forget a subscriber; whether he was admitted."""
        self._index.remove(who)
        return self._admitted.pop(who, None) is not None

    def place_of(self, who: Who, cursor: Cursor) -> Cursor:
        """Return up to where a subscriber who was handed everything up to `cursor` has heard everything."""
        return cursor if who not in self or self._cursor is None else max(cursor, self._cursor, key=_place)

    def read(self) -> Iterator[tuple[StreamEvent, list[Who]]]:
        """Yield what is new with those who want it, to the log's end. Raises StreamError, StorageError.

        Whoever is dropped meanwhile hears no more, and goes on from the cursor of the event that he heard last.
        """
        while self._admitted and self._cursor is not None:
            details = (SPENT if self._index.needs_spent() else frozenset()).union(
                *(details for _, details in self._admitted.values())
            )
            page = self._log.page(self._cursor, EventFilter(types=self._index.types()), details)
            for told, wanting in zip(page.events, self._index.find_all(page.events), strict=True):
                place = _place(told.cursor)
                # Who came with a cursor further on has read this event from the log already.
                who = [each for each in wanting if place > _place(self._admitted[each][0])]
                if who:
                    yield told, who
            self._cursor = page.cursor
            if page.is_last:
                return


def _place(cursor: Cursor) -> tuple[int, int]:
    return cursor.seq, cursor.index
