"""Where delivery runs: in this process or in one of its own, behind the same interface.

Owns: the interface that the node uses, and the variant without a process. Never: delivery itself.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from clarion.node.errors import StreamError
from clarion.node.events.row import EventRow
from clarion.node.storage.rows import StoredBlock
from clarion.notifiers.engine import Descriptions, EventsEngine
from clarion.notifiers.feed import EventSource
from clarion.notifiers.lanes.notify_option import Delivery
from clarion.notifiers.lanes.services import LaneServices
from clarion.notifiers.memory_watch import is_foreign
from clarion.notifiers.notifier import Notifier


@dataclass(frozen=True, slots=True)
class EventsSetup:
    """All that delivery needs to start, here or in another process: the functions must be importable by name."""

    config: Any
    open_source: Callable[[Any], EventSource]
    build_notifiers: Callable[[Any], Sequence[Notifier | Delivery]]
    open_services: Callable[[Any], LaneServices] | None = None
    """Called where there is a lane whose place is stored."""

    memory_limit_bytes: int = 0
    """What a process of its own may hold before the plugin that took most of it is stopped; 0: no limit."""

    keeps_places: bool = False
    """Whether plugins go on where they were when the node was stopped or killed."""

    def engine(
        self,
        start_at: int,
        positions: Mapping[str, int] | None = None,
        on_progress: Callable[[], None] = lambda: None,
        held: Mapping[str, str] | None = None,
    ) -> EventsEngine:
        """Return the engine, not started yet. Raises ConfigError, PluginError, StorageError."""
        notifiers = self.build_notifiers(self.config)
        services = None
        kept = (isinstance(each, Delivery) or (self.keeps_places and is_foreign(each)) for each in notifiers)
        if self.open_services is not None and any(kept):
            services = self.open_services(self.config)
        return EventsEngine(self.open_source(self.config), notifiers, start_at, positions, on_progress, services, held)


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

    def expect(self, block: StoredBlock) -> None:
        """Say that a block is stored that will probably be told soon, so that it can be read and parsed meanwhile.

        Cheap, never blocks: called by the chain thread.
        """

    def sync(self, seq: int, timeout_s: float | None = None) -> bool:
        """Wait until everything up to `seq`, durable or not yet, was handed to libzmq; whether that was so in time."""

    def stop(self, timeout_s: float = 10.0) -> None:
        """Tell what is durable by now, then end delivery. `timeout_s` is how long it may stand still meanwhile."""

    def descriptions(self) -> Descriptions:
        """Return what each notifier publishes where; `["zmq"]` is the answer of getzmqnotifications."""

    def lane_heights(self) -> dict[str, int]:
        """Return, by lane whose place is stored, the height of the chain that it has come to, or a lower one."""

    def ask_lanes(self, action: str, name: str = "", argument: str = "") -> Any:
        """Do what `LaneDesk.ask` does, wherever the lanes run. Raises StreamError, `unavailable` where they do not."""


class InProcessEvents:
    """Delivery on threads of this process, for `-eventsprocess=0`. Also right where there is nothing to deliver."""

    def __init__(self, setup: EventsSetup) -> None:
        self._setup = setup
        self._engine: EventsEngine | None = None

    def start(self, from_seq: int) -> None:
        """Open the notifiers and start their lanes. Raises ConfigError or PluginError."""
        engine = self._setup.engine(from_seq)
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

    def expect(self, block: StoredBlock) -> None:
        """Do nothing: parsing here would hold up the thread that says so."""

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

    def lane_heights(self) -> dict[str, int]:
        """Return how far lanes have come."""
        return self._engine.heights() if self._engine is not None else {}

    def ask_lanes(self, action: str, name: str = "", argument: str = "") -> Any:
        """Ask the engine's desk."""
        if self._engine is None:
            raise StreamError("unavailable", "delivery has not started")
        return self._engine.desk.ask(action, name, argument)
