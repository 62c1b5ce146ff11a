"""The network's place in the node.

Owns: its composition and when it starts and stops. Never: peers.
"""

from collections.abc import Callable
from contextlib import ExitStack

from clarion.node.app.core import NodeCore
from clarion.node.chain.indexes.filter_records import NAME, STORE_NAME
from clarion.node.config import Config
from clarion.node.net.clock import NetClock
from clarion.node.net.context import NetContext
from clarion.node.net.service import NetService
from clarion.node.scheduler import Scheduler


def make_network(config: Config, core: NodeCore) -> NetService:
    """Return the network of a node whose chain is loaded."""
    return NetService(
        NetContext(
            params=core.params,
            options=config.net,
            chain=core.chain,
            mempool=core.mempool,
            stores=core.storage.stores,
            clock=NetClock(core.clock),
            data_dir=config.chain_dir,
            pruned=config.prune_mib != 0,
            filters=core.storage.database.index_reader(STORE_NAME) if NAME in core.indexes.names else None,
        )
    )


def start_network(network: NetService, scheduler: Scheduler, stack: ExitStack, say: Callable[[str], None]) -> None:
    """Take part, until `stack` is closed. Raises ConfigError."""
    say("Loading banlist…")
    say("Starting network threads…")
    network.start()
    network.schedule(scheduler)
    stack.callback(network.stop)
