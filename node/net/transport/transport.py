"""What a connection needs of a transport.

Owns: the protocol. Never: an implementation.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol


class Received(NamedTuple):
    """A message as it came: its name, its payload, and the bytes that it took on the wire.

    `command` is empty for a message that is dropped (wrong checksum, unknown short id) but counts as received.
    """

    command: str
    payload: bytes
    wire_size: int


class Transport(Protocol):
    """One connection's framing. Not thread-safe."""

    @property
    def transport_type(self) -> str:
        """`v1`, `v2`, or `detecting`, as getpeerinfo shows it."""
        ...

    @property
    def session_id(self) -> str:
        """BIP324's session id in hex, empty for other transports."""
        ...

    @property
    def should_reconnect_v1(self) -> bool:
        """Whether the other side seems not to speak BIP324, so that another try with v1 may help."""
        ...

    def receive(self, data: bytes) -> None:
        """Take bytes that came. Raises PeerError if the connection can't go on."""
        ...

    def messages(self) -> Iterator[Received]:
        """Yield the messages that are complete. Raises PeerError behind the last good one."""
        ...

    def encode(self, command: str, payload: bytes) -> bytes:
        """Return the bytes that send a message; empty while they must wait for the other side's key (see `pending`)."""
        ...

    def pending(self) -> bytes:
        """Return, once, bytes to be sent that are no message's: a handshake's, and messages that had to wait for it."""
        ...

    def delayed(self) -> list[tuple[str, int]]:
        """Return, once, the name and the bytes on the wire of each message that was part of `pending`."""
        ...
