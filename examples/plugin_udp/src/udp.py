"""Delivers events as UDP packets: a transport for `-notify=udp://host:port`."""

import socket
from collections.abc import Iterable, Sequence

from clarion.node.errors import DeliveryError
from clarion.notifiers.lanes.transport import Message, NotifyUrl, TransportKind
from clarion.plugins import hookimpl

clarion_hook_api = "1.0"

LONGEST_BYTES = 60_000


class Udp:
    """The transport. The lane does the rest: filter, place in the log, attempts, dead letters."""

    def __init__(self, url: NotifyUrl) -> None:
        """Raise ConfigError, which ends the start, where the URL makes no sense."""
        self._address = (url.host(), url.port(4711))
        self._longest = url.number("longest", LONGEST_BYTES, 1)

    def open(self) -> None:
        """Take a socket."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def send(self, messages: Sequence[Message]) -> None:
        """Send each event as one packet. Raises DeliveryError for one that is too long: it becomes a dead letter."""
        for count, message in enumerate(messages):
            if len(message.body) > self._longest:
                raise DeliveryError("too long for one packet", sent=count, permanent=True)
            self._socket.sendto(message.body, self._address)

    def close(self) -> None:
        """Give the socket back."""
        self._socket.close()


@hookimpl
def register_transports() -> Iterable[TransportKind]:
    """Add the scheme `udp` with a setting of its own: `-notify=udp://host:port?longest=1400`."""
    return [TransportKind(("udp",), Udp, settings=frozenset({"longest"}))]
