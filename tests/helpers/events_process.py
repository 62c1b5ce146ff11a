"""What an events process runs in tests: importable by name, its log in a file that the test rewrites."""

import os
import pickle
import time
from dataclasses import dataclass
from pathlib import Path

from clarion.node.errors import ConfigError, PluginError
from clarion.node.events.events import BlockConnected
from clarion.notifiers.notifier import LoggedEvent, Notifier
from clarion.notifiers.runner import EventsSetup
from clarion.notifiers.zmq_address import ZmqAddress
from clarion.notifiers.zmq_core import CoreTopics
from clarion.plugins import hookimpl
from clarion.plugins.manager import Plugins
from clarion.plugins.observers import PluginObserver
from helpers.event_source import ListSource, RecordingNotifier


@dataclass(frozen=True)
class ProcessConfig:
    """What the child is given."""

    log_file: Path
    addresses: tuple[ZmqAddress, ...] = ()
    trouble: str = ""


class FileSource(ListSource):
    """A log that another process writes."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._load()

    def last_seq(self) -> int:
        """Return the last row's number in the file."""
        self._load()
        return super().last_seq()

    def read(self, after_seq: int, limit: int) -> list:  # type: ignore[type-arg]
        """Return rows of the file."""
        self._load()
        return super().read(after_seq, limit)

    def _load(self) -> None:
        if self._path.exists():
            self.rows, self.blocks = pickle.loads(self._path.read_bytes())

    def save(self) -> None:
        """Write the file, as a commit would."""
        self._path.with_suffix(".new").write_bytes(pickle.dumps((self.rows, self.blocks)))
        os.replace(self._path.with_suffix(".new"), self._path)


class BusyPlugin:
    """Computes for a while in every block, without letting go of the interpreter."""

    @hookimpl
    def block_connected(self, event: BlockConnected) -> None:
        """Compute."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            pass


def _crash_once(marker: Path) -> None:
    if not marker.exists():
        marker.touch()
        os._exit(3)


def open_file_source(config: ProcessConfig) -> FileSource:
    """Return the log."""
    return FileSource(config.log_file)


def build_test_notifiers(config: ProcessConfig) -> list[Notifier]:
    """Return the notifiers that the test wants, and what goes wrong."""
    notifiers: list[Notifier] = [CoreTopics(config.addresses, bind_wait_s=0)]
    if config.trouble == "plugin":
        raise PluginError("plugin x: there is no hook 'y'")
    if config.trouble == "bug":
        raise ZeroDivisionError("oops")
    if config.trouble == "config":
        raise ConfigError("-zmqpubrawtx=…: can't bind")
    if config.trouble == "crash":
        marker = config.log_file.with_suffix(".crashed")

        def crash_at_third_row(event: LoggedEvent) -> None:
            if event.row.seq == 3:
                _crash_once(marker)

        notifiers.append(RecordingNotifier("crashing", crash_at_third_row))
    if config.trouble == "busy":
        plugins = Plugins()
        plugins.add("busy", BusyPlugin())
        notifiers.append(PluginObserver(plugins, "busy"))
    if config.trouble == "hang":
        notifiers.append(RecordingNotifier("hanging", lambda event: time.sleep(3600)))
    return notifiers


def make_setup(config: ProcessConfig) -> EventsSetup:
    """Return what an `EventsRunner` is built from."""
    return EventsSetup(config, open_file_source, build_test_notifiers)
