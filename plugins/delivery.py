"""What has to be delivered in this node: the notifiers that plugins register and the plugins that observe.

Owns: the two functions that start delivery, importable by name so that another process can call them. Never: running it.
"""

from clarion.node.config import Config
from clarion.node.storage.location import Backend, locate
from clarion.notifiers.notifier import Notifier
from clarion.notifiers.process import EventsProcess
from clarion.notifiers.runner import EventsRunner, EventsSetup, InProcessEvents
from clarion.notifiers.source import open_source
from clarion.plugins.manager import load_plugins
from clarion.plugins.observers import PluginObserver, observed_hooks


def build_notifiers(config: Config) -> list[Notifier]:
    """Return everything that wants to be told. Opens nothing. Raises PluginError or ConfigError."""
    plugins = load_plugins(config.plugins, config.disabled_plugins)
    plugins.configure(config)
    notifiers: list[Notifier] = [notifier for _, notifier in plugins.collect("register_notifiers", config=config)]
    observing = [name for name in plugins.names if observed_hooks(plugins, name)]
    return notifiers + [PluginObserver(plugins, name) for name in observing]


def make_events_runner(config: Config) -> EventsRunner:
    """Return how this node delivers: in a process of its own, or in this one if that is asked for or nobody listens.

    Raises PluginError or ConfigError, so that a wrong plugin is named before anything has started.
    """
    setup = EventsSetup(config, open_source, build_notifiers)
    if build_notifiers(config) and config.events_process and not is_in_memory(config):
        return EventsProcess(setup)
    return InProcessEvents(setup)


def is_in_memory(config: Config) -> bool:
    """Whether the databases are in this process's memory, where no other process can read the log."""
    return locate(config.database_url, config.chain_dir).backend is Backend.SQLITE_MEMORY
