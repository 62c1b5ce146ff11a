"""What a notifier is: something that is told the rows of the event log, one after the other.

Owns: the protocol between delivery and notifiers. Never: threads, sockets, or reading the log.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from clarion.node.events.row import EventRow
from clarion.node.primitives.block import Block


class LoggedEvent(Protocol):
    """One row of the log with its block within reach."""

    @property
    def row(self) -> EventRow:
        """The row."""

    @property
    def log_id(self) -> str:
        """The log's id in hex, the first part of every event's identity."""

    def block(self) -> Block:
        """Return the row's block, read and parsed once for all notifiers. Raises StorageError if it is unreadable."""


class Notifier(Protocol):
    """Gets every row in order, in a thread and with a position of its own (a *lane*).

    `tell` may take its time: only its own lane waits. Whatever it raises makes the lane tell the same row again after
    a pause, so it should do what can fail (reading the block) before it sends anything.
    A notifier with an attribute `early` that is true gets rows of the mempool before they are durable, each once: a node
    that is killed in that moment forgets them, and their numbers are given to other rows when it starts again.
    One with an attribute `needs_blocks` that is true asks for the block of each row of the chain: blocks are read and
    parsed for it while their scripts are still being checked.
    """

    @property
    def name(self) -> str:
        """A name that is unique in the node and the same after a restart."""

    @property
    def awaited(self) -> bool:
        """Whether `syncwithvalidationinterfacequeue` waits for this notifier."""

    def open(self) -> None:
        """Take what it needs (sockets, connections). Raises ConfigError, which stops the node's start."""

    def tell(self, event: LoggedEvent) -> None:
        """Deliver one row."""

    def close(self) -> None:
        """Give everything back. Called after the last `tell`, or after an `open` that raised."""

    def describe(self) -> Sequence[Mapping[str, object]]:
        """Return what is published where, for `getzmqnotifications` and its like. May be empty."""


def takes_early(notifier: Notifier) -> bool:
    """Whether the notifier wants rows of the mempool before they are durable."""
    return bool(getattr(notifier, "early", False))


def needs_blocks(notifier: object) -> bool:
    """Whether the notifier asks for the blocks of rows, so that it pays to have them at hand."""
    return bool(getattr(notifier, "needs_blocks", False))
