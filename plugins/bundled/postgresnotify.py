"""NOTIFY of PostgreSQL as a plugin: `-notify=postgresql://…`.

Owns: offering the transport. Never: delivering (notifiers.transports.postgres_notify).
"""

from clarion.notifiers.lanes.transport import TransportKind
from clarion.notifiers.transports.postgres_notify import KIND
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_transports() -> list[TransportKind]:
    """Return the one kind."""
    return [KIND]
