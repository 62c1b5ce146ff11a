"""The stored place of a plugin's lane: where it goes on after the node was stopped or killed.

Owns: finding it at the start, and storing it. Never: telling. It is stored behind what was told, so a crash repeats the last
few rows and leaves none out.
"""

import logging

from clarion.node.errors import StreamError
from clarion.node.events.cursor import Cursor, cursor_at
from clarion.node.events.row import EventRow
from clarion.node.storage.lane_store import LaneRecord
from clarion.notifiers.lanes.services import LaneServices

_log = logging.getLogger(__name__)


class StoredPlace:
    """The place of one lane. `find` first; belongs to the lane's thread from then on."""

    def __init__(self, name: str, services: LaneServices) -> None:
        self._name = name
        self._services = services
        self._cursor: Cursor | None = None
        self._is_stored = False

    @property
    def height(self) -> int:
        """The height of the block that was told last; -1 while there is none."""
        return -1 if self._cursor is None else self._cursor.height

    def find(self, now_seq: int) -> int:
        """Return the last row that was told; `now_seq` for a new lane, or where the log can't go on from the stored place.

        Raises StorageError.
        """
        record = self._services.store.lane(self._name)
        if record is not None:
            try:
                self._cursor, self._is_stored = self._services.log.start(record.cursor), True
                return self._cursor.seq
            except StreamError as error:
                _log.warning("%s: can't go on where it was, it is told what comes from now on: %s", self._name, error)
        self._cursor = self._services.log.behind_row(now_seq)
        self.store()
        return now_seq

    def told(self, row: EventRow) -> None:
        """Remember that a row was told."""
        self._cursor, self._is_stored = cursor_at(self._services.log.log_id, row), False

    def store(self) -> None:
        """Store it, unless it is. Raises StorageError."""
        if not self._is_stored and self._cursor is not None:
            self._services.store.save(self._name, LaneRecord(str(self._cursor), ""))
            self._is_stored = True
