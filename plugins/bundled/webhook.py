"""Webhooks as a plugin: `-notify=webhook+https://…`.

Owns: offering the transport. Never: delivering (notifiers.transports.webhook).
"""

from clarion.notifiers.lanes.transport import TransportKind
from clarion.notifiers.transports.webhook import KIND
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_transports() -> list[TransportKind]:
    """Return the one kind."""
    return [KIND]
