"""A peer: everything that is known of the other end of a connection.

Owns: its state and how it is sent to and left. Never: sockets, what messages lead to.
Belongs to the network thread.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import TypeVar

from clarion.node.net.address import Endpoint, Network
from clarion.node.net.message_capture import Capture
from clarion.node.net.messages.message import Message
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import INIT_PROTO_VERSION
from clarion.node.net.transport.transport import Transport

State = TypeVar("State")

logger = logging.getLogger("clarion.net")


class ConnectionType(Enum):
    """Why a connection is there; the value is what getpeerinfo shows."""

    INBOUND = "inbound"
    OUTBOUND_FULL_RELAY = "outbound-full-relay"
    MANUAL = "manual"
    FEELER = "feeler"
    BLOCK_RELAY = "block-relay-only"
    ADDR_FETCH = "addr-fetch"


class Peer:
    """One peer. Parts of the node keep what they know of it under their own type (`state`)."""

    def __init__(
        self,
        peer_id: int,
        endpoint: Endpoint,
        connection_type: ConnectionType,
        transport: Transport,
        *,
        name: str = "",
        bound_to: Endpoint | None = None,
        permissions: Permission = Permission.NONE,
        our_services: int = 0,
        connected_us: int = 0,
        log_ips: bool = False,
        onion_inbound: bool = False,
    ) -> None:
        """`name` is the address as the operator gave it; `connected_us` in microseconds since the Unix epoch."""
        self.id = peer_id
        self.endpoint = endpoint
        self.name = name or str(endpoint)
        self.bound_to = bound_to
        self.connection_type = connection_type
        self.transport = transport
        self.permissions = permissions
        self.our_services = our_services
        self.connected_us = connected_us
        self.onion_inbound = onion_inbound
        self.group = 0
        """Stands for the group of its address, under a key that only we know."""
        self.network_key = 0
        """Stands for the network and our own address that it comes by."""
        self.prefers_eviction = False
        """It misbehaved before, and goes first when somebody has to go."""
        self._log_ips = log_ips
        self._states: dict[type, object] = {}

        self.version = 0
        self.common_version = INIT_PROTO_VERSION
        self.services = 0
        self.has_wanted_services = False
        self.subversion = ""
        self.start_height = -1
        self.seen_as: Endpoint | None = None
        """How the peer sees us."""
        self.relays_txs = False
        """Whether it asked for transactions when it connected."""
        self.fully_connected = False
        self.wtxid_relay = False
        self.wants_addrv2 = False
        self.time_offset = 0
        self.local_nonce = 0

        self.last_send = 0
        self.last_receive = 0
        self.last_transaction = 0
        self.last_block = 0
        self.bytes_sent: Counter[str] = Counter()
        self.bytes_received: Counter[str] = Counter()
        """By message; the totals hold a handshake of the transport too."""
        self.total_sent = 0
        self.total_received = 0

        self.leaving = False
        """Nothing more is read from it or sent to it."""
        self.should_discourage = False
        self.write: Callable[[bytes], None] = lambda data: None
        """Hands bytes to the connection."""
        self.close: Callable[[], None] = lambda: None
        """Ends the connection."""
        self.drain: Callable[[], Awaitable[None]] = _drained
        """Waits until the connection can take more; what makes long answers waits before each part."""
        self.now_seconds: Callable[[], int] = lambda: 0
        self.capture: Capture | None = None
        """Takes all messages, where the operator wants them kept."""

    def state(self, kind: type[State]) -> State:
        """Return what a part of the node keeps about this peer; `kind()` makes it at first use."""
        found = self._states.get(kind)
        if found is None:
            found = self._states[kind] = kind()
        return found  # type: ignore[return-value]

    @property
    def is_inbound(self) -> bool:
        """Whether the peer connected to us."""
        return self.connection_type is ConnectionType.INBOUND

    @property
    def is_manual(self) -> bool:
        """Whether the operator asked for this connection."""
        return self.connection_type is ConnectionType.MANUAL

    @property
    def is_block_only(self) -> bool:
        """Whether only blocks pass this connection."""
        return self.connection_type is ConnectionType.BLOCK_RELAY

    @property
    def is_automatic_outbound(self) -> bool:
        """Whether we chose this peer: full relay or blocks only."""
        return self.connection_type in (ConnectionType.OUTBOUND_FULL_RELAY, ConnectionType.BLOCK_RELAY)

    @property
    def expects_services(self) -> bool:
        """Whether the connection makes sense only if the peer offers what we want."""
        return self.connection_type in (
            ConnectionType.OUTBOUND_FULL_RELAY,
            ConnectionType.BLOCK_RELAY,
            ConnectionType.ADDR_FETCH,
        )

    @property
    def network(self) -> Network:
        """The network that the connection runs over."""
        return Network.ONION if self.onion_inbound else self.endpoint.address.public_network

    def may(self, permission: Permission) -> bool:
        """Whether the peer has a permission."""
        return self.permissions & permission == permission

    @property
    def log_name(self) -> str:
        """The peer as log lines name it."""
        return f"peer={self.id}, peeraddr={self.endpoint}" if self._log_ips else f"peer={self.id}"

    @property
    def disconnecting(self) -> str:
        """The end of every log line about a connection that is given up."""
        return f"disconnecting {self.log_name}"

    def send(self, message: Message) -> None:
        """Send a message, or nothing to a peer that is leaving."""
        self.send_raw(message.command, message.serialize())

    def send_raw(self, command: str, payload: bytes) -> None:
        """Send a payload that is encoded already."""
        if self.leaving:
            return
        logger.debug("sending %s (%d bytes) peer=%d", command, len(payload), self.id)
        if self.capture is not None:
            self.capture(command, payload, False)
        data = self.transport.encode(command, payload)
        self.bytes_sent[command] += len(data)
        self.write(data)

    def disconnect(self, reason: str = "") -> None:
        """Leave the peer. `reason` begins the log line."""
        if self.leaving:
            return
        if reason:
            logger.debug("%s, %s", reason, self.disconnecting)
        self.leaving = True
        self.close()

    def misbehaving(self, reason: str) -> None:
        """Note that the peer broke the protocol; it is judged when its message has been handled."""
        logger.debug("Misbehaving: peer=%d%s", self.id, f": {reason}" if reason else "")
        self.should_discourage = True


async def _drained() -> None:
    """Return at once."""
