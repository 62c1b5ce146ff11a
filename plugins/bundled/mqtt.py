"""MQTT as a plugin: `-notify=mqtt://…`.

Owns: offering the transport. Never: delivering (notifiers.transports.mqtt).
"""

from clarion.notifiers.lanes.transport import TransportKind
from clarion.notifiers.transports.mqtt import KIND
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_transports() -> list[TransportKind]:
    """Return the one kind."""
    return [KIND]
