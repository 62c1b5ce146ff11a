"""NATS JetStream as a plugin: `-notify=nats://…`.

Owns: offering the transport. Never: delivering (notifiers.transports.nats_jetstream).
"""

from clarion.notifiers.lanes.transport import TransportKind
from clarion.notifiers.transports.nats_jetstream import KIND
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_transports() -> list[TransportKind]:
    """Return the one kind."""
    return [KIND]
