"""Bitcoin Core's ZMQ topics as a plugin.

Owns: which `-zmqpub…` options become a notifier. Never: sockets (notifiers.zmq_core).
"""

from clarion.node.config import Config
from clarion.notifiers.notifier import Notifier
from clarion.notifiers.zmq_core import CoreTopics
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_notifiers(config: Config) -> list[Notifier]:
    """Return one notifier for all topics and addresses: their order is one order."""
    return [CoreTopics(config.zmq_notifiers)] if config.zmq_notifiers else []
