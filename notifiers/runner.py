"""Where delivery runs: in this process or in one of its own, behind the same interface.

Owns: the interface that the node uses, and the variant without a process. Never: delivery itself.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from clarion.node.events.row import EventRow
from clarion.notifiers.engine import Descriptions, EventsEngine
from clarion.notifiers.feed import EventSource
from clarion.notifiers.notifier import Notifier


@dataclass(frozen=True, slots=True)
class EventsSetup:
    """All that delivery needs to start, here or in another process: the two functions must be importable by name."""

    config: Any
    open_source: Callable[[Any], EventSource]
    build_notifiers: Callable[[Any], Sequence[Notifier]]


class EventsRunner(Protocol):
    """What the node knows of delivery. `start` first, `stop` last; the others may be called from any thread."""

    def start(self, from_seq: int) -> None:
        """Start to tell the rows behind `from_seq`; what is committed meanwhile is told when the start is done.

        Raises ConfigError or PluginError if a notifier can't start, here or in `wait_ready`.
        """

    def wait_ready(self) -> None:
        """Wait until every notifier is open. Raises ConfigError or PluginError if one can't start."""

    def wake(self, seq: int) -> None:
        """Say that the rows up to `seq` are durable. Cheap, never blocks: called by the chain thread."""

    def offer(self, rows: Sequence[EventRow]) -> None:
        """Give rows of the mempool that are not durable yet: Core's topics tell them at once.

        Cheap, never blocks: called by the chain thread. A row that can't be taken is told when it is durable.
        """

    def sync(self, seq: int, timeout_s: float | None = None) -> bool:
        """Wait until everything up to `seq`, durable or not yet, was handed to libzmq; whether that was so in time."""

    def stop(self, timeout_s: float = 10.0) -> None:
        """Tell what is durable by now, then end delivery. `timeout_s` is how long it may stand still meanwhile."""

    def descriptions(self) -> Descriptions:
        """Return what each notifier publishes where; `["zmq"]` is the answer of getzmqnotifications."""


class InProcessEvents:
    """Delivery on threads of this process, for `-eventsprocess=0`. Also right where there is nothing to deliver."""

    def __init__(self, setup: EventsSetup) -> None:
        self._setup = setup
        self._engine: EventsEngine | None = None

    def start(self, from_seq: int) -> None:
        """Open the notifiers and start their lanes. Raises ConfigError or PluginError."""
        notifiers = self._setup.build_notifiers(self._setup.config)
        engine = EventsEngine(self._setup.open_source(self._setup.config), notifiers, from_seq)
        engine.start()
        self._engine = engine

    def wait_ready(self) -> None:
        """Return: `start` did it all."""

    def wake(self, seq: int) -> None:
        """Wake the lanes, which look into the log themselves."""
        if self._engine is not None:
            self._engine.wake()

    def offer(self, rows: Sequence[EventRow]) -> None:
        """Give the rows to the lanes."""
        if self._engine is not None:
            self._engine.offer(rows)

    def sync(self, seq: int, timeout_s: float | None = None) -> bool:
        """Wait for row `seq`."""
        told = threading.Event()
        if self._engine is None:
            return False
        self._engine.call_when_told(seq, told.set)
        return told.wait(timeout_s)

    def stop(self, timeout_s: float = 10.0) -> None:
        """End the lanes."""
        if self._engine is not None:
            self._engine.stop(timeout_s)
            self._engine = None

    def descriptions(self) -> Descriptions:
        """Return what each notifier publishes where."""
        return self._engine.descriptions() if self._engine is not None else {}
