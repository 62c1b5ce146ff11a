"""RabbitMQ as a plugin: `-notify=amqp://…`.

Owns: offering the transport. Never: delivering (notifiers.transports.amqp).
"""

from clarion.notifiers.lanes.transport import TransportKind
from clarion.notifiers.transports.amqp import KIND
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_transports() -> list[TransportKind]:
    """Return the one kind."""
    return [KIND]
