"""The hooks that a plugin may implement.

Owns: names, arguments and meaning of every hook. Never: calling them.
An implementation takes any subset of a hook's arguments, by name. Observers run in the events process, each plugin on a
thread of its own: they may block, they can't veto, and what they raise is logged and stops nobody else.
"""

from collections.abc import Iterable

import pluggy

from clarion.node.chain.indexes.index import Index
from clarion.node.config import Config
from clarion.node.events.events import BlockConnected, BlockDisconnected, TipChanged, TxAdded, TxRemoved
from clarion.node.mempool.accept.operator_policy import TransactionView
from clarion.node.options.option import Option
from clarion.notifiers.lanes.transport import TransportKind
from clarion.notifiers.notifier import Notifier
from clarion.plugins.http import Route
from clarion.plugins.rpc import RpcMethod

PROJECT = "clarion"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def register_options() -> Iterable[Option]:  # type: ignore[empty-body]
    """Return options to add to the command line and `bitcoin.conf`. Called before the configuration is read."""


@hookspec
def configure(config: Config) -> None:
    """The configuration was read. Called once, before all hooks that follow, in the node and in the events process.

    Raise ConfigError for wrong options: the node does not start, and shows its text.
    """


@hookspec
def register_notifiers(config: Config) -> Iterable[Notifier]:  # type: ignore[empty-body]
    """Return notifiers to be told every row of the event log. Called in the node and in the events process.

    Only build them here: sockets and connections belong in `Notifier.open`. Raise ConfigError for wrong options.
    """


@hookspec
def register_transports() -> Iterable[TransportKind]:  # type: ignore[empty-body]
    """Return kinds of transport for `-notify`, by the schemes of their URLs. Called in the node and in the events process.

    Client libraries are best imported by `TransportKind.make`, which only a URL of its scheme calls.
    """


@hookspec
def register_indexes(config: Config) -> Iterable[Index]:  # type: ignore[empty-body]
    """Return indexes that follow the chain, each with a database and a thread of its own. Called in the node.

    Only build them here. Raise ConfigError for wrong options.
    """


@hookspec
def register_rpc_methods(config: Config) -> Iterable[RpcMethod]:  # type: ignore[empty-body]
    """Return RPC methods. Called in the node and in each API process; a method says in which of them it runs.

    Only build them here. Raise ConfigError for wrong options.
    """


@hookspec
def register_routes(config: Config) -> Iterable[Route]:  # type: ignore[empty-body]
    """Return HTTP routes on the RPC port. Called in the node and in each API process; routes are served by the latter.

    Only build them here. Raise ConfigError for wrong options. The configuration holds no passwords in API processes.
    """


@hookspec
def accept_transaction(view: TransactionView) -> str | None:
    """Return why a transaction must not come into the mempool, None if it may. Called in the node.

    Called before the transaction is judged, on the thread of whoever offers it, with no lock held; again if the tip
    moves meanwhile. What it raises is logged and counts as None. Blocks are not its business.
    """


@hookspec
def block_connected(event: BlockConnected) -> None:
    """A block became the last of the active chain, durably. `event.block` holds its transactions."""


@hookspec
def block_disconnected(event: BlockDisconnected) -> None:
    """The last block of the active chain was taken off, durably, with its transactions."""


@hookspec
def tip_changed(event: TipChanged) -> None:
    """A step of the chain ended: the tip before it and the tip after it share `event.fork_hash`."""


@hookspec
def tx_added(event: TxAdded) -> None:
    """A transaction entered the mempool. `event` holds it with its fee and the outputs that it spends."""


@hookspec
def tx_removed(event: TxRemoved) -> None:
    """A transaction left the mempool, for `event.reason`; a replaced one for `event.replaced_by`."""
