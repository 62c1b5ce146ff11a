"""The chain lock is never held over I/O, encoding, script checks, sending or plugins (the whole node in one process).

Everything that must not happen under the lock is wrapped for the whole process; a wrapper that is called by the thread
that holds the lock notes it. The last test moves one rendering under the lock and shows that this is noticed.
"""

import builtins
import os
import socket
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import zmq

from clarion.api.render import block as block_render
from clarion.node.chain.journal import Journal
from clarion.node.chain.lock import ChainLock
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.validation import inline_queue
from clarion.notifiers.engine import EventsEngine
from clarion.notifiers.pub_socket import PubSocket
from clarion.notifiers.source import StoredEvents
from clarion.notifiers.zmq_address import ZmqAddress
from clarion.notifiers.zmq_core import TOPICS, CoreTopics
from clarion.plugins import hookimpl
from clarion.plugins.manager import Plugins
from clarion.plugins.observers import PluginObserver
from helpers.api_stack import ApiStack
from helpers.node import free_port
from helpers.node_database import database_url

GUARDED: dict[str, tuple[Any, str]] = {
    "pread": (os, "pread"),
    "pwrite": (os, "pwrite"),
    "fdatasync": (os, "fdatasync"),
    "fsync": (os, "fsync"),
    "os.open": (os, "open"),
    "open": (builtins, "open"),
    "socket.send": (socket.socket, "send"),
    "socket.sendall": (socket.socket, "sendall"),
    "zmq.send": (zmq.Socket, "send"),
    "publish": (PubSocket, "send"),
    "hook": (Plugins, "call_one"),
    "encode": (orjson, "dumps"),
    "decode": (orjson, "loads"),
    "render": (block_render, "block_contents"),
    "script": (inline_queue, "check_units"),
}
"""What must never run under the chain lock, and where it lives."""

REQUIRED = ("pread", "pwrite", "fdatasync", "publish", "hook", "encode", "render", "script")
"""What the scenario below is known to run, so that a guard that no longer guards is noticed."""


class Watch:
    """Wraps the guarded functions and counts their calls, and those under the lock."""

    def __init__(self, lock: ChainLock, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: Counter[str] = Counter()
        self.under_lock: Counter[str] = Counter()
        self._lock = lock
        for name, (owner, attribute) in GUARDED.items():
            original = getattr(owner, attribute)
            wrapped = self._wrap(name, original)
            monkeypatch.setattr(owner, attribute, wrapped)
            for module in [m for key, m in sys.modules.items() if key.startswith("clarion.")]:
                for bound, value in list(vars(module).items()):
                    if value is original:
                        monkeypatch.setattr(module, bound, wrapped)

    def _wrap(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] += 1
            if self._lock.held:
                self.under_lock[name] += 1
            return original(*args, **kwargs)

        return guarded


class Listener:
    """An observer plugin."""

    heard = 0

    @hookimpl
    def block_connected(self) -> None:
        self.heard += 1


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[ApiStack]:
    stack = ApiStack(tmp_path).ready()
    yield stack
    stack.close()


def _start_delivery(stack: ApiStack) -> tuple[EventsEngine, Listener]:
    plugins, listener = Plugins(), Listener()
    plugins.add("listener", listener)
    address = f"tcp://127.0.0.1:{free_port()}"
    topics = CoreTopics([ZmqAddress(topic, address, 0) for topic in TOPICS])
    source = StoredEvents(ChainReader(database_url(stack.node.folder), stack.node.folder, stack.node.params))
    engine = EventsEngine(source, [topics, PluginObserver(plugins, "listener")], 0)
    engine.start()
    stack.node.manager.journal.on_commit = lambda seq: engine.wake()
    return engine, listener


def _scenario(stack: ApiStack) -> None:
    """Mine, spend, reorganise by verdicts, and read everything that is rendered."""
    hashes = stack.result("generatetodescriptor", 102, "raw(51)")
    coinbase = stack.result("getblock", hashes[0], 2)["tx"][0]
    spend = "02000000" + "01" + bytes.fromhex(coinbase["txid"])[::-1].hex() + "00000000" + "00" + "ffffffff"
    spend += "01" + (49 * 10**8).to_bytes(8, "little").hex() + "0151" + "00000000"
    mined = stack.result("generateblock", "raw(51)", [spend])["hash"]
    stack.result("invalidateblock", hashes[-2])
    stack.result("generatetodescriptor", 1, "raw(52)")
    stack.result("reconsiderblock", hashes[-2])
    for verbosity in range(4):
        stack.result("getblock", mined, verbosity)
    assert stack.get(f"/rest/block/{mined}.json").status_code == 200
    assert stack.get(f"/rest/spenttxouts/{mined}.bin").status_code == 200
    stack.result("gettxoutsetinfo")
    stack.result("gettxout", coinbase["txid"], 0)
    stack.result("getchaintips")


def _run(stack: ApiStack, monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch(stack.node.manager.state.lock, monkeypatch)
    engine, listener = _start_delivery(stack)
    _scenario(stack)
    engine.stop(10)
    assert listener.heard > 100
    return watch


@pytest.mark.slow
def test_nothing_slow_or_foreign_runs_under_the_chain_lock(stack: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = _run(stack, monkeypatch)
    assert watch.under_lock == Counter()
    assert [name for name in REQUIRED if not watch.calls[name]] == []


@pytest.mark.slow
def test_a_rendering_moved_under_the_lock_is_noticed(stack: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    connected = Journal.connected

    def rendering(self: Journal, entry: Any) -> None:
        orjson.dumps({"height": entry.height})
        connected(self, entry)

    monkeypatch.setattr(Journal, "connected", rendering)
    watch = _run(stack, monkeypatch)
    assert set(watch.under_lock) == {"encode"}
