"""A lane over a real log, with a transport that does as the test says.

Owns: making them and closing them. Never: asserting.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.lane_store import open_lane_store
from clarion.node.storage.location import locate
from clarion.notifiers.feed import Feed
from clarion.notifiers.lanes.delivery_lane import DeliveryLane
from clarion.notifiers.lanes.lane_desk import LaneDesk
from clarion.notifiers.lanes.notify_option import Delivery, parse_notify
from clarion.notifiers.lanes.services import LaneServices
from clarion.notifiers.lanes.transport import Message, NotifyUrl, TransportKind
from clarion.notifiers.source import StoredEvents
from helpers.event_chain import EventChain, Step
from helpers.node_database import database_url


class ScriptedTransport:
    """Remembers what it was sent. `before` runs first for each message and may raise."""

    def __init__(self) -> None:
        self.got: list[Message] = []
        self.batches: list[int] = []
        self.opened = self.closed = 0
        self.before: Callable[[Message], None] = lambda message: None

    def open(self) -> None:
        """Count."""
        self.opened += 1

    def close(self) -> None:
        """Count."""
        self.closed += 1

    def send(self, messages: Sequence[Message]) -> None:
        """Take them, as far as `before` lets it."""
        for message in messages:
            self.before(message)
        self.got += messages
        self.batches.append(len(messages))

    @property
    def ids(self) -> list[str]:
        """The identities of what came."""
        return [message.id for message in self.got]


class LaneBench:
    """One lane; `start` it, `close` it in the end. `again` makes the lane of the next process."""

    def __init__(self, folder: Path, settings: str = "from=start", steps: Sequence[Step] = (("blocks", 3),)) -> None:
        self.chain = EventChain(folder).play(steps)
        self.log = self.chain.reader()
        self.settings = settings
        self._begin()

    def _begin(self) -> None:
        folder, params = self.chain.folder, self.chain.node.params
        self.transport = ScriptedTransport()
        self.delivery = self.delivery_of(self.settings)
        url = database_url(folder)
        self._reader = ChainReader(url, folder, params)
        self.store = open_lane_store(locate(url, folder), params)
        self.services = LaneServices(self._reader, self.store, params)
        self.lane = DeliveryLane(self.delivery, self.services, self.log.last_seq(), lambda lane: None)
        source = StoredEvents(ChainReader(url, folder, params))
        self._feed = Feed(source)
        self.desk = LaneDesk([self.lane], self._feed)
        self.lane.open()

    def delivery_of(self, settings: str) -> Delivery:
        """Return what `-notify=test://host?<settings>` asks for."""
        kind = TransportKind(("test",), lambda url: self.transport, frozenset(("own",)), retry_s=(0.01,))
        return parse_notify(f"test://host/path?name=a&{settings}", {"test": kind}, self.chain.node.params)

    def start(self) -> "LaneBench":
        """Start the lane."""
        self.lane.start()
        return self

    def play(self, *steps: Step) -> None:
        """Make more history and wake the lane."""
        self.chain.play(steps)
        self.lane.wake()

    def everything(self, **fields: Any) -> list[str]:
        """Return the identities of all events of the log that pass the delivery's filter."""
        cursor, found = self.log.start("start"), []
        while True:
            page = self.log.page(cursor, self.delivery.request.wanted)
            found += [str(each.event.id) for each in page.events]
            assert page.cursor is not None
            cursor = page.cursor
            if page.is_last:
                return found

    def end(self) -> None:
        """End the lane as the process does."""
        self.lane.abandon()
        if self.lane._thread.ident is not None:
            assert self.lane.join(10)
        self.lane.close()
        self._feed.close()
        self.services.close()

    def again(self, settings: str | None = None) -> None:
        """End the lane, then make it again as after a restart; not started."""
        self.end()
        self.settings = self.settings if settings is None else settings
        self._begin()

    def close(self) -> None:
        """End everything."""
        self.end()
        self.chain.close()


def url_of(text: str, **settings: str) -> NotifyUrl:
    """Return the address of a transport under test."""
    from urllib.parse import urlsplit

    return NotifyUrl(urlsplit(text), settings)


def messages(count: int, first: int = 1, body: bytes = b"{}") -> list[Message]:
    """Return messages with identities of their own."""
    return [
        Message(f"00112233aabbccdd.{seq}.0", f"cursor-{seq}", "tip_changed", 1_700_000_000, body)
        for seq in range(first, first + count)
    ]
