"""All peers, and which part of the node hears which message.

Owns: the table of handlers, the order of what is done for a peer, and the punishment of misbehaviour. Never: sockets,
what a message leads to. Belongs to the network thread.
"""

import logging
from collections.abc import Awaitable, Callable

from clarion.node.errors import DecodeError, EndOfData
from clarion.node.net.peer import Peer
from clarion.node.net.permissions import Permission
from clarion.node.net.text import sanitize
from clarion.node.net.transport.transport import Received

Handler = Callable[[Peer, bytes], Awaitable[None]]
PeerHook = Callable[[Peer], None]
Tick = Callable[[Peer, int], None]

BEFORE_VERACK = frozenset(
    ("version", "verack", "wtxidrelay", "sendaddrv2", "sendheaders", "sendcmpct", "sendtxrcncl", "feature")
)
"""What is handled before the handshake is over."""

logger = logging.getLogger("clarion.net")


class PeerManager:
    """Peers by id, in the order in which they connected."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        """`now_us` reads the network's clock in microseconds."""
        self._now_us = now_us
        self.peers: dict[int, Peer] = {}
        self.on_connected: list[PeerHook] = []
        """Called for a new connection, before anything is sent or received."""
        self.on_ready: list[PeerHook] = []
        """Called when a handshake is over."""
        self.on_disconnected: list[PeerHook] = []
        self.before_message: list[Callable[[Peer, str], Awaitable[None]]] = []
        """Called before each message of a peer, with its command."""
        self.on_message_done: list[Callable[[Peer], Awaitable[None]]] = []
        """Called after each message of a peer."""
        self.ticks: list[Tick] = []
        """Called for each ready peer every tenth of a second, with the time in microseconds."""
        self.discourage: Callable[[Peer], None] = lambda peer: None
        """Called for a peer that is left for misbehaviour and whose address is to be avoided."""
        self._handlers: dict[str, Handler] = {}
        self._next_id = 0

    def register(self, command: str, handler: Handler) -> None:
        """Have `handler` called with the payloads of a command's messages. It raises DecodeError for a malformed one."""
        assert command not in self._handlers, f"{command} has two handlers"
        self._handlers[command] = handler

    def next_id(self) -> int:
        """Return the id of the next peer; they are never used again."""
        self._next_id += 1
        return self._next_id - 1

    def add(self, peer: Peer) -> None:
        """Take a new connection in."""
        self.peers[peer.id] = peer
        for hook in self.on_connected:
            hook(peer)

    def remove(self, peer: Peer) -> None:
        """Forget a connection that has ended."""
        if self.peers.pop(peer.id, None) is not None:
            for hook in self.on_disconnected:
                hook(peer)
            logger.debug("Cleared nodestate for peer=%d", peer.id)

    def ready(self, peer: Peer) -> None:
        """Note that a peer's handshake is over."""
        peer.fully_connected = True
        for hook in self.on_ready:
            hook(peer)

    async def process(self, peer: Peer, received: Received) -> None:
        """Handle one message to its end."""
        command, payload = received.command, received.payload
        if peer.capture is not None:
            peer.capture(command, payload, True)
        logger.debug("received: %s (%d bytes) peer=%d", sanitize(command), len(payload), peer.id)
        if peer.version == 0 and command != "version":
            logger.debug(
                'non-version message before version handshake. Message "%s" from peer=%d', sanitize(command), peer.id
            )
            return
        if not peer.fully_connected and command not in BEFORE_VERACK:
            logger.debug('Unsupported message "%s" prior to verack from peer=%d', sanitize(command), peer.id)
            return
        handler = self._handlers.get(command)
        if handler is None:
            logger.debug('Unknown message type "%s" from peer=%d', sanitize(command), peer.id)
            return
        for hook in self.before_message:
            await hook(peer, command)
        try:
            await handler(peer, payload)
        except DecodeError as error:
            # Core's tools look for its words.
            kind = "DataStream::read(): end of data: " if isinstance(error, EndOfData) else ""
            logger.debug(
                "ProcessMessages(%s, %d bytes): Exception '%s%s' caught, peer=%d",
                sanitize(command),
                len(payload),
                kind,
                error,
                peer.id,
            )
        for done in self.on_message_done:
            await done(peer)
        self.judge(peer)
        if peer.fully_connected and not peer.leaving:
            # As in the reference, what is due for a peer goes out between two of its messages.
            self._tick_peer(peer, self._now_us())

    def judge(self, peer: Peer) -> None:
        """Leave a peer that misbehaved, unless it is one of ours."""
        if not peer.should_discourage or peer.leaving:
            return
        peer.should_discourage = False
        if peer.may(Permission.NO_BAN):
            logger.warning("Not punishing noban peer %d!", peer.id)
        elif peer.is_manual:
            logger.warning("Not punishing manually connected peer %d!", peer.id)
        elif peer.endpoint.address.is_local:
            kind = "inbound onion" if peer.onion_inbound else "local"
            logger.debug("Warning: disconnecting but not discouraging %s peer %d!", kind, peer.id)
            peer.disconnect()
        else:
            logger.debug("Disconnecting and discouraging peer %d!", peer.id)
            self.discourage(peer)
            peer.disconnect()

    def tick(self, now_us: int) -> None:
        """Do for every ready peer what is due."""
        for peer in list(self.peers.values()):
            if peer.leaving:
                continue
            self.judge(peer)
            if peer.fully_connected:
                self._tick_peer(peer, now_us)

    def _tick_peer(self, peer: Peer, now_us: int) -> None:
        for hook in self.ticks:
            if peer.leaving:
                return
            hook(peer, now_us)
