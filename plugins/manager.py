"""Which plugins there are, and calling their hooks so that none can stop another.

Owns: finding, loading and checking plugins. Never: a plugin manager for the whole program: each process makes its own.
"""

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pluggy

from clarion.node.config import Config
from clarion.node.errors import ConfigError, PluginError
from clarion.node.options.option import Option
from clarion.plugins import hookspecs
from clarion.plugins.hookspecs import PROJECT

ENTRY_POINT_GROUP = PROJECT

BUNDLED = {
    "zmq": "clarion.plugins.bundled.zmq",
    "txindex": "clarion.plugins.bundled.txindex",
    "txospenderindex": "clarion.plugins.bundled.txospenderindex",
    "blockfilterindex": "clarion.plugins.bundled.blockfilterindex",
    "coinstatsindex": "clarion.plugins.bundled.coinstatsindex",
    "scriptindex": "clarion.plugins.bundled.scriptindex.plugin",
    "command": "clarion.plugins.bundled.command",
    "jsonl": "clarion.plugins.bundled.jsonl",
    "webhook": "clarion.plugins.bundled.webhook",
    "redis": "clarion.plugins.bundled.redis",
    "nats": "clarion.plugins.bundled.nats",
    "amqp": "clarion.plugins.bundled.amqp",
    "mqtt": "clarion.plugins.bundled.mqtt",
    "postgresnotify": "clarion.plugins.bundled.postgresnotify",
    "kafka": "clarion.plugins.bundled.kafka",
    "watches": "clarion.plugins.bundled.watches.plugin",
}
"""Plugins that come with the node, by name."""

HOOK_API = (1, 0)
"""Version of the hooks: the first number rises when a hook changes or goes, the second when one comes or gets more."""

OBSERVER_HOOKS = ("block_connected", "block_disconnected", "tip_changed", "tx_added", "tx_removed")


class Plugins:
    """The loaded plugins of one process."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)

    @property
    def names(self) -> list[str]:
        """Every plugin's name, in the order in which they were loaded."""
        return [name for name, _ in self._manager.list_name_plugin()]

    def add(self, name: str, plugin: object) -> None:
        """Register one plugin; a class is called without arguments first.

        Raises PluginError if it is there already, has no hooks, or has one that does not exist or does not fit.
        """
        instance = plugin() if inspect.isclass(plugin) else plugin
        _check_version(name, instance)
        try:
            self._manager.register(instance, name)
            self._manager.check_pending()
        except pluggy.PluginValidationError as error:
            raise PluginError(f"plugin {name}: {_explain(error)}") from error
        except ValueError:
            raise PluginError(f"plugin {name} is loaded twice") from None
        callers = self._manager.get_hookcallers(instance)
        if not callers:
            raise PluginError(f"plugin {name} has no hooks: mark them with @clarion.plugins.hookimpl")
        for caller in callers:
            if any(each.plugin_name == name and (each.wrapper or each.hookwrapper) for each in caller.get_hookimpls()):
                raise PluginError(f"plugin {name}: {caller.name} is a wrapper, but no plugin may wrap another's hook")

    def plugin(self, name: str) -> object:
        """Return the module or object that was registered under a name; None for another name."""
        return self._manager.get_plugin(name)

    def implements(self, name: str, hook: str) -> bool:
        """Whether plugin `name` has an implementation of `hook`."""
        return self._implementation(name, hook) is not None

    def call_one(self, name: str, hook: str, **arguments: object) -> object:
        """Call one plugin's hook and return its result; None if it has none. Raises what the plugin raises."""
        implementation = self._implementation(name, hook)
        if implementation is None:
            return None
        return implementation.function(*[arguments[each] for each in implementation.argnames])

    def collect(self, hook: str, **arguments: object) -> Iterator[tuple[str, Any]]:
        """Yield (plugin's name, item) for all that the plugins return from a registration hook.

        Raises PluginError naming the plugin that failed, or the ConfigError that it raised: registration happens at
        start, where the operator can mend it.
        """
        for name in self.names:
            with _at_start(name, hook):
                items = self.call_one(name, hook, **arguments)
                found = list(items) if isinstance(items, Iterable) else []
            for item in found:
                yield name, item

    def configure(self, config: Config) -> None:
        """Give every plugin the configuration. Raises PluginError, or the ConfigError that a plugin raises."""
        for name in self.names:
            with _at_start(name, "configure"):
                self.call_one(name, "configure", config=config)

    def options(self) -> list[Option]:
        """Return the options that plugins add. Raises PluginError."""
        return [option for _, option in self.collect("register_options")]

    def _implementation(self, name: str, hook: str) -> pluggy.HookImpl | None:
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            if implementation.plugin_name == name:
                found: pluggy.HookImpl = implementation
                return found
        return None


def _check_version(name: str, plugin: object) -> None:
    """Raise PluginError if a plugin says that it was written for hooks that this program does not have."""
    wanted = getattr(plugin, "clarion_hook_api", None)
    if wanted is None:
        return
    major, _, minor = str(wanted).partition(".")
    if not (major.isascii() and major.isdigit() and (minor or "0").isascii() and (minor or "0").isdigit()):
        raise PluginError(f"plugin {name}: clarion_hook_api is a version such as '1.0', not {wanted!r}")
    if int(major) != HOOK_API[0] or int(minor or "0") > HOOK_API[1]:
        have = ".".join(map(str, HOOK_API))
        raise PluginError(f"plugin {name} is for version {wanted} of the hooks; this program has version {have}")


def load_plugins(paths: Iterable[str] = (), disabled: Iterable[str] = ()) -> Plugins:
    """Return the bundled plugins, those that are installed (entry points of group `clarion`) and those of `-plugin`.

    `paths` are `module` or `module:object`. `disabled` names plugins to leave out. Raises PluginError naming the plugin if one can't be imported or implements a hook that does not exist.
    """
    left_out = set(disabled)
    plugins = Plugins()
    for name, load in _found(paths):
        if name not in left_out:
            plugins.add(name, _import(name, load))
    return plugins


@contextmanager
def _at_start(name: str, hook: str) -> Iterator[None]:
    """Name the plugin in whatever it raises, except for errors that are told as they are."""
    try:
        yield
    except (ConfigError, PluginError):
        raise
    except Exception as error:
        raise PluginError(f"plugin {name}: {hook} failed: {type(error).__name__}: {error}") from error


def _found(paths: Iterable[str]) -> Iterator[tuple[str, Callable[[], object]]]:
    for name, module in BUNDLED.items():
        yield name, lambda module=module: importlib.import_module(module)  # type: ignore[misc]
    installed = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name)
    for entry in installed:
        yield entry.name, entry.load
    known = {entry.value: entry.name for entry in installed}
    for path in dict.fromkeys(paths):
        if path not in known:
            yield path, EntryPoint(path, path, ENTRY_POINT_GROUP).load


def _import(name: str, load: Callable[[], object]) -> object:
    try:
        return load()
    except Exception as error:
        raise PluginError(f"plugin {name} can't be loaded: {type(error).__name__}: {error}") from error


def _explain(error: pluggy.PluginValidationError) -> str:
    text = str(error.args[0]) if error.args else str(error)
    for line in text.splitlines():
        if line.startswith("unknown hook "):
            hook = line.split("'")[1]
            names = [name for name in vars(hookspecs) if hasattr(vars(hookspecs)[name], f"{PROJECT}_spec")]
            near = difflib.get_close_matches(hook, names, 1)
            return f"there is no hook '{hook}'" + (f" (did you mean '{near[0]}'?)" if near else "")
    return text
