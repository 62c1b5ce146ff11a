"""What is indexed in this node: the indexes that plugins register.

Owns: collecting them. Never: running them (node.chain.indexes).
"""

from clarion.node.chain.indexes.index import Index
from clarion.node.config import Config
from clarion.node.errors import PluginError
from clarion.plugins.manager import load_plugins


def build_indexes(config: Config) -> list[Index]:
    """Return the indexes of all plugins. Opens nothing. Raises PluginError or ConfigError."""
    plugins = load_plugins(config.plugins, config.disabled_plugins)
    plugins.configure(config)
    indexes: list[Index] = []
    for plugin, index in plugins.collect("register_indexes", config=config):
        taken = next((each for each in indexes if index.store_name == each.store_name or index.name == each.name), None)
        if taken is not None:
            raise PluginError(f"plugin {plugin}: there is an index {taken.name} already")
        if not (index.store_name.isascii() and index.store_name.isalnum() and index.store_name.islower()):
            raise PluginError(f"plugin {plugin}: {index.store_name!r} can't name a database: a-z and 0-9 can")
        indexes.append(index)
    return indexes
