"""The plugin of watches: what it registers where -watches asks for it. Owns: the hooks. Never: what they do."""

from clarion.node.chain.indexes.index import Index
from clarion.node.config import Config
from clarion.plugins.bundled.watches.index import WatchIndex
from clarion.plugins.bundled.watches.methods import METHODS
from clarion.plugins.bundled.watches.routes import ROUTE
from clarion.plugins.hookspecs import hookimpl
from clarion.plugins.http import Route
from clarion.plugins.rpc import RpcMethod


@hookimpl
def register_indexes(config: Config) -> list[Index]:
    """Return the index."""
    return [WatchIndex()] if config.watches else []


@hookimpl
def register_rpc_methods(config: Config) -> list[RpcMethod]:
    """Return the methods."""
    return METHODS if config.watches else []


@hookimpl
def register_routes(config: Config) -> list[Route]:
    """Return /v1/watches."""
    return [ROUTE] if config.watches else []
