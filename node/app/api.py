"""The API's life inside the node: cookie, control channel, workers or the in-process server.

Owns: the order in which they start and stop. Never: requests.
"""

import logging
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from clarion.api.auth import CredentialError, delete_cookie, write_cookie
from clarion.api.idle_worker import IdleWorkers
from clarion.api.listen import bind_sockets
from clarion.api.node_link import DirectLink
from clarion.api.plugin_parts import plugin_parts, register_methods, without_secrets
from clarion.api.rpc.node_methods import CallRunner, NodeMethods
from clarion.api.settings import ApiSettings
from clarion.api.workers import ApiWorkers
from clarion.node.config import Config
from clarion.node.control import ControlServer, control_path
from clarion.node.errors import ConfigError
from clarion.node.params.chain_params import ChainParams

logger = logging.getLogger(__name__)


def start_api(
    config: Config,
    params: ChainParams,
    methods: NodeMethods,
    indexes: frozenset[str],
    stack: ExitStack,
    idle: IdleWorkers,
) -> None:
    """Serve the node's API; `stack` stops it again. Raises ConfigError, PluginError.

    Clients are answered with -28 until `methods` has the running node.
    """
    serve(config, params, methods, indexes, stack, idle, control_path(config.chain_dir))


def serve(
    config: Config,
    params: ChainParams,
    methods: CallRunner,
    indexes: frozenset[str],
    stack: ExitStack,
    idle: IdleWorkers,
    path: Path,
) -> None:
    """Bind the port, write the cookie and serve; `stack` stops it again. Raises ConfigError, PluginError.

    `indexes` are the names of those that there are, `idle` the workers' processes as far as they are started. Workers
    ask `methods` over a control socket at `path`.
    """
    sockets = bind_sockets(config.rpc_bind, config.rpc_port, config.rpc_allow_ip)
    try:
        # At once: whoever gets a connection now reads the cookie, and one of a killed node may still lie there.
        cookie = _write_cookie(config, stack)
        parts = plugin_parts(config)
        register_methods(parts)
        settings = ApiSettings.from_config(config, params, cookie, indexes)
        if parts:
            settings = replace(settings, plugin_config=without_secrets(config))
    except BaseException as error:
        for each in sockets:
            each.close()
        if isinstance(error, CredentialError):
            logger.error("%s", error)
            raise ConfigError("Unable to start HTTP server. See debug log for details.") from None
        raise
    if config.api_workers == 0:
        # Imported here: the web framework is the workers' where there are any.
        from clarion.api.server import InProcessServer

        server = InProcessServer(settings, sockets, DirectLink(methods))
        stack.callback(server.stop)
        server.start()
        return
    control = ControlServer(path, methods)
    control.start()
    stack.callback(control.stop)
    workers = ApiWorkers(settings, sockets, path, config.api_workers, idle)
    stack.callback(workers.stop)
    workers.start()


def _write_cookie(config: Config, stack: ExitStack) -> tuple[str, str] | None:
    path = config.rpc_cookie_file
    if config.rpc_password or path is None:
        return None
    cookie = write_cookie(path, config.rpc_cookie_perms)
    stack.callback(delete_cookie, path)
    return cookie
