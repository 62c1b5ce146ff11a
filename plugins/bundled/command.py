"""Delivery to programs as a plugin: `-notify=exec:…`.

Owns: offering the transport. Never: delivering (notifiers.transports.command).
"""

from clarion.notifiers.lanes.transport import TransportKind
from clarion.notifiers.transports.command import KIND
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_transports() -> list[TransportKind]:
    """Return the one kind."""
    return [KIND]
