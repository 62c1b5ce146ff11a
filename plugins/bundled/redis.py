"""Redis Streams as a plugin: `-notify=redis://…`.

Owns: offering the transport. Never: delivering (notifiers.transports.redis_streams).
"""

from clarion.notifiers.lanes.transport import TransportKind
from clarion.notifiers.transports.redis_streams import KIND
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_transports() -> list[TransportKind]:
    """Return the one kind."""
    return [KIND]
