"""Apache Kafka as a plugin: `-notify=kafka://…`.

Owns: offering the transport. Never: delivering (notifiers.transports.kafka).
"""

from clarion.notifiers.lanes.transport import TransportKind
from clarion.notifiers.transports.kafka import KIND
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_transports() -> list[TransportKind]:
    """Return the one kind."""
    return [KIND]
