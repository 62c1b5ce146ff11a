"""Delivery to JSON Lines files as a plugin: `-notify=file:…`.

Owns: offering the transport. Never: delivering (notifiers.transports.json_lines).
"""

from clarion.notifiers.lanes.transport import TransportKind
from clarion.notifiers.transports.json_lines import KIND
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_transports() -> list[TransportKind]:
    """Return the one kind."""
    return [KIND]
