"""Observers: a plugin's observer hooks as a notifier, so that every plugin has a lane of its own.

Owns: which events reach which hook. Never: threads.
"""

import logging
from collections.abc import Mapping, Sequence

from clarion.node.events.events import BlockConnected, BlockDisconnected, Event, TipChanged, TxAdded, TxRemoved
from clarion.node.events.expand import expand_row, needs_block, row_event_types
from clarion.notifiers.notifier import LoggedEvent
from clarion.plugins.manager import OBSERVER_HOOKS, Plugins

_log = logging.getLogger(__name__)

_HOOK_EVENTS: Mapping[str, type[Event]] = dict(
    zip(OBSERVER_HOOKS, (BlockConnected, BlockDisconnected, TipChanged, TxAdded, TxRemoved), strict=True)
)


class PluginObserver:
    """Calls the observer hooks of one plugin. What it raises is logged with its traceback, and the event counts as told."""

    awaited = False
    is_weighed = True

    def __init__(self, plugins: Plugins, plugin_name: str) -> None:
        self.name = f"plugin {plugin_name}"
        self._plugins = plugins
        self._plugin_name = plugin_name
        self.weighed_code = plugins.plugin(plugin_name)
        self._hooks = {_HOOK_EVENTS[hook]: hook for hook in observed_hooks(plugins, plugin_name)}

    def open(self) -> None:
        """Do nothing: a plugin has no start of its own."""

    def close(self) -> None:
        """Do nothing."""

    def describe(self) -> Sequence[Mapping[str, object]]:
        """Return nothing: a plugin publishes nowhere that we know of."""
        return []

    def tell(self, event: LoggedEvent) -> None:
        """Call the hooks for one row. Raises StorageError if its block is unreadable, so that it is told later."""
        wanted = self._hooks.keys() & row_event_types(event.row.kind)
        if not wanted:
            return
        block = event.block() if needs_block(event.row.kind) else None
        for each in expand_row(event.row, event.log_id, block, wanted):
            hook = self._hooks[type(each)]
            try:
                self._plugins.call_one(self._plugin_name, hook, event=each)
            except Exception:
                _log.exception("%s: %s raised for event %s", self.name, hook, each.id)


def observed_hooks(plugins: Plugins, plugin_name: str) -> list[str]:
    """Return the observer hooks that a plugin implements."""
    return [hook for hook in OBSERVER_HOOKS if plugins.implements(plugin_name, hook)]
