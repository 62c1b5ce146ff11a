"""The plugin of the script index: what it registers where -scriptindex asks for it. Owns: the hooks. Never: what they do."""

from clarion.node.chain.indexes.index import Index
from clarion.node.config import Config
from clarion.plugins.bundled.scriptindex.index import ScriptIndex
from clarion.plugins.bundled.scriptindex.methods import METHODS
from clarion.plugins.bundled.scriptindex.routes import ROUTE
from clarion.plugins.hookspecs import hookimpl
from clarion.plugins.http import Route
from clarion.plugins.rpc import RpcMethod


@hookimpl
def register_indexes(config: Config) -> list[Index]:
    """Return the index."""
    return [ScriptIndex()] if config.script_index else []


@hookimpl
def register_rpc_methods(config: Config) -> list[RpcMethod]:
    """Return the question about the mempool."""
    return METHODS if config.script_index else []


@hookimpl
def register_routes(config: Config) -> list[Route]:
    """Return /v1/scripts."""
    return [ROUTE] if config.script_index else []
