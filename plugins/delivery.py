"""What has to be delivered in this node: the notifiers that plugins register and the plugins that observe.

Owns: the two functions that start delivery, importable by name so that another process can call them. Never: running it.
"""

from clarion.node.config import Config, params_of
from clarion.node.errors import ConfigError, PluginError
from clarion.node.storage.location import Backend, locate
from clarion.notifiers.lanes.notify_option import Delivery, parse_notify
from clarion.notifiers.lanes.services import open_lane_services
from clarion.notifiers.lanes.transport import TransportKind
from clarion.notifiers.notifier import Notifier
from clarion.notifiers.process import EventsProcess
from clarion.notifiers.runner import EventsRunner, EventsSetup, InProcessEvents
from clarion.notifiers.source import open_source
from clarion.plugins.manager import Plugins, load_plugins
from clarion.plugins.observers import PluginObserver, observed_hooks


def build_notifiers(config: Config) -> list[Notifier | Delivery]:
    """Return everything that wants to be told. Opens nothing. Raises PluginError or ConfigError."""
    plugins = load_plugins(config.plugins, config.disabled_plugins)
    plugins.configure(config)
    told: list[Notifier | Delivery] = [notifier for _, notifier in plugins.collect("register_notifiers", config=config)]
    told += _deliveries(config, plugins)
    observing = [name for name in plugins.names if observed_hooks(plugins, name)]
    return told + [PluginObserver(plugins, name) for name in observing]


def _deliveries(config: Config, plugins: Plugins) -> list[Delivery]:
    """Return what -notify asks for."""
    kinds: dict[str, TransportKind] = {}
    for plugin, kind in plugins.collect("register_transports"):
        for scheme in kind.schemes:
            if scheme in kinds:
                raise PluginError(f"plugin {plugin}: there is a transport for {scheme}: already")
            kinds[scheme] = kind
    found: dict[str, Delivery] = {}
    for text in config.values("notify"):
        delivery = parse_notify(text, kinds, params_of(config))
        if delivery.name in found:
            raise ConfigError(f"-notify: two lanes are called {delivery.name}: give one of them another name=")
        found[delivery.name] = delivery
    return list(found.values())


def make_events_runner(config: Config) -> EventsRunner:
    """Return how this node delivers: in a process of its own, or in this one if that is asked for or nobody listens.

    Raises PluginError or ConfigError, so that a wrong plugin is named before anything has started.
    """
    lasting = not is_in_memory(config)
    setup = EventsSetup(
        config, open_source, build_notifiers, open_lane_services, config.events_memory_mib << 20, keeps_places=lasting
    )
    if build_notifiers(config) and config.events_process and lasting:
        return EventsProcess(setup)
    return InProcessEvents(setup)


def is_in_memory(config: Config) -> bool:
    """Whether the databases are in this process's memory, where no other process can read the log."""
    return locate(config.database_url, config.chain_dir).backend is Backend.SQLITE_MEMORY
