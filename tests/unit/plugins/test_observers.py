"""Observer hooks: which events reach them, and that plugins stay apart."""

import logging
import threading

import pytest

from clarion.node.events.events import BlockConnected, BlockDisconnected, Event, TipChanged, TxAdded, TxRemoved
from clarion.notifiers.engine import EventsEngine
from clarion.notifiers.feed import Feed
from clarion.plugins import hookimpl
from clarion.plugins.manager import OBSERVER_HOOKS, Plugins
from clarion.plugins.observers import PluginObserver
from helpers.event_source import ListSource, RecordingNotifier, make_block, wait_until


class Watching:
    """Remembers what it sees."""

    def __init__(self) -> None:
        self.seen: list[Event] = []

    @hookimpl
    def block_connected(self, event: BlockConnected) -> None:
        """Remember."""
        self.seen.append(event)

    @hookimpl
    def block_disconnected(self, event: BlockDisconnected) -> None:
        """Remember."""
        self.seen.append(event)

    @hookimpl
    def tip_changed(self, event: TipChanged) -> None:
        """Remember."""
        self.seen.append(event)

    @hookimpl
    def tx_added(self, event: TxAdded) -> None:
        """Remember."""
        self.seen.append(event)

    @hookimpl
    def tx_removed(self, event: TxRemoved) -> None:
        """Remember."""
        self.seen.append(event)


class TipsOnly:
    """Wants no blocks."""

    @hookimpl
    def tip_changed(self) -> None:
        """Ignore."""


class Raising:
    """Raises."""

    @hookimpl
    def block_connected(self, event: BlockConnected) -> None:
        """Raise."""
        raise KeyError(event.height)


class Hanging:
    """Waits until it is let go."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    @hookimpl
    def block_connected(self) -> None:
        """Wait."""
        self.go_on.wait()


def _observers(**plugins: object) -> list[PluginObserver]:
    loaded = Plugins()
    for name, plugin in plugins.items():
        loaded.add(name, plugin)
    return [PluginObserver(loaded, name) for name in plugins]


def _one_block_and_back() -> ListSource:
    source, block = ListSource(), make_block(1, 2)
    source.connect(block)
    source.disconnect(block, bytes(32))
    return source


def test_every_observer_hook_is_called_with_its_event() -> None:
    watching, source, (tx,) = Watching(), _one_block_and_back(), make_block(2).txs
    source.add_to_mempool(tx)
    source.remove_from_mempool(tx.txid, "expiry")
    (observer,) = _observers(w=watching)
    for event in Feed(source).read(0, 10):
        observer.tell(event)
    chain, mempool = watching.seen[:4], watching.seen[4:]
    assert [type(event) for event in chain] == [BlockConnected, TipChanged, BlockDisconnected, TipChanged]
    assert [type(event) for event in mempool] == [TxAdded, TxRemoved]
    assert [event.id.index for event in watching.seen] == [2, 0, 2, 0, 0, 0]
    assert len(OBSERVER_HOOKS) == 5


def test_plugin_without_block_hooks_reads_no_blocks() -> None:
    source = _one_block_and_back()
    (observer,) = _observers(t=TipsOnly())
    for event in Feed(source).read(0, 10):
        observer.tell(event)
    assert source.block_reads == 0


def test_raising_plugin_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    watching = Watching()
    engine = EventsEngine(_one_block_and_back(), _observers(r=Raising(), w=watching), 0)
    engine.start()
    wait_until(lambda: engine.positions() == {"plugin r": 4, "plugin w": 4})
    engine.stop(5)
    assert len(watching.seen) == 4
    assert "plugin r: block_connected raised for event" in caplog.text
    assert "KeyError: 7" in caplog.text


def test_hanging_plugin_delays_nobody() -> None:
    hanging, watching, notifier = Hanging(), Watching(), RecordingNotifier()
    engine = EventsEngine(_one_block_and_back(), [*_observers(h=hanging, w=watching), notifier], 0)
    engine.start()
    wait_until(lambda: len(watching.seen) == 4 and len(notifier.told) == 4)
    told = threading.Event()
    engine.call_when_told(4, told.set)
    assert told.is_set()
    assert engine.positions()["plugin h"] == 0
    hanging.go_on.set()
    engine.stop(5)
