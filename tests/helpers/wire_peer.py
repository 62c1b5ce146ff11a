"""A peer of the P2P network without a socket: what a node says to it, and what it says to the node.

Owns: a peer with a transport, its inbox, and the reading of what is sent to it. Never: asserting.
"""

import asyncio
from collections.abc import Iterable

from clarion.node.net.address import Endpoint, parse_endpoint
from clarion.node.net.messages.handshake import Version
from clarion.node.net.messages.message import Message, Verack
from clarion.node.net.messages.registry import MESSAGES
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.transport.transport import Received
from clarion.node.net.transport.v1 import V1Transport

MAGIC = bytes.fromhex("fabfb5da")
SERVICES = 0b1001
"""NETWORK and WITNESS."""


def endpoint_of(text: str) -> Endpoint:
    """Return the endpoint that a text names."""
    endpoint = parse_endpoint(text, 18444)
    assert endpoint is not None
    return endpoint


class WirePeer:
    """The other end of `peer`."""

    def __init__(
        self,
        peers: PeerManager,
        kind: ConnectionType = ConnectionType.INBOUND,
        address: str = "127.0.0.1:50000",
        permissions: Permission = Permission.NONE,
    ) -> None:
        self.peers = peers
        self._far = V1Transport(MAGIC)
        self.peer = Peer(
            peers.next_id(),
            endpoint_of(address),
            kind,
            V1Transport(MAGIC),
            permissions=permissions,
            our_services=SERVICES,
        )
        self.closed = False
        self.peer.write = self._far.receive
        self.peer.close = self._close
        peers.add(self.peer)

    def _close(self) -> None:
        self.closed = True

    def sent(self) -> list[Message]:
        """Return what the node has sent since the last call, decoded; unknown commands are left out."""
        return [MESSAGES[each.command].parse(each.payload) for each in self._far.messages() if each.command in MESSAGES]

    def commands(self) -> list[str]:
        """Return the names of what the node has sent since the last call."""
        return [each.command for each in self._far.messages()]

    def say(self, *messages: Message) -> None:
        """Have the node handle messages, one after the other."""
        self.say_raw((each.command, each.serialize()) for each in messages)

    def say_raw(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Have the node handle payloads."""

        async def handle() -> None:
            for command, payload in messages:
                await self.peers.process(self.peer, Received(command, payload, len(payload)))

        asyncio.run(handle())

    def shake_hands(self, version: Version | None = None) -> None:
        """Come through the handshake, and forget what the node said in it."""
        self.say(version or Version(70016, SERVICES, 0, relay=True), Verack())
        self.sent()
