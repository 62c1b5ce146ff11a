"""The operator's own rules for the mempool: the `accept_transaction` hooks of all plugins as one.

Owns: asking them in turn, so that one that fails objects to nothing and stops nobody. Never: when they are asked
(node.mempool.accept.operator_policy).
"""

import logging

from clarion.node.config import Config
from clarion.node.mempool.accept.operator_policy import OperatorPolicy, TransactionView
from clarion.node.primitives.ids import hash_to_hex
from clarion.plugins.manager import Plugins, load_plugins

HOOK = "accept_transaction"

_log = logging.getLogger(__name__)


def build_policy(config: Config) -> OperatorPolicy | None:
    """Return the rules of all plugins, None if none has any. Raises PluginError or ConfigError."""
    plugins = load_plugins(config.plugins, config.disabled_plugins)
    plugins.configure(config)
    names = [name for name in plugins.names if plugins.implements(name, HOOK)]
    return _Rules(plugins, names) if names else None


class _Rules:
    def __init__(self, plugins: Plugins, names: list[str]) -> None:
        self._plugins = plugins
        self._names = names

    def __call__(self, view: TransactionView) -> str | None:
        """Return the first objection, behind the name of the plugin that has it."""
        for name in self._names:
            try:
                reason = self._plugins.call_one(name, HOOK, view=view)
            except Exception:
                _log.exception("plugin %s: %s raised for transaction %s", name, HOOK, hash_to_hex(view.tx.txid))
                continue
            if reason:
                return f"{name}: {reason}"
        return None
