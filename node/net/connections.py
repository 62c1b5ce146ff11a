"""Open sockets become peers: whom we let in, and what is known of a peer from its address.

Owns: the checks on inbound connections, making peers and running them. Never: dialling, messages.
Source: Bitcoin Core's src/net.cpp (CreateNodeFromAcceptedSocket, AttemptToEvictConnection).
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from clarion.node.net.address import NO_ENDPOINT, Endpoint, NetAddress, Network, from_v1, parse_address
from clarion.node.net.bans import BanList
from clarion.node.net.bloom_serving import BloomState
from clarion.node.net.connection import Connection
from clarion.node.net.context import NetContext
from clarion.node.net.eviction import Candidate, select_peer_to_evict
from clarion.node.net.handshake import PingState
from clarion.node.net.keyed_hash import KeyedHash
from clarion.node.net.listener import Bind
from clarion.node.net.message_capture import MessageCapture
from clarion.node.net.network_groups import NETWORK_NUMBERS
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.slots import Limits
from clarion.node.net.subnet import Subnet
from clarion.node.net.transport.transport import Transport
from clarion.node.net.transport.v1 import V1Transport
from clarion.node.net.transport.v2 import V2Transport

logger = logging.getLogger("clarion.net")


class Connections:
    """The connections that there are. Belongs to the network thread."""

    def __init__(
        self,
        context: NetContext,
        peers: PeerManager,
        bans: BanList,
        limits: Limits,
        spawn: Callable[[Awaitable[Any]], None],
    ) -> None:
        """`spawn` runs work beside everything else."""
        self._context = context
        self._peers = peers
        self._bans = bans
        self._limits = limits
        self._spawn = spawn
        self._hash = KeyedHash()
        captures = context.options.capture_messages
        self._capture = MessageCapture(context.data_dir, context.clock.now_us) if captures else None
        self.active = context.options.network_active
        """Whether there are to be connections at all."""

    # --- those that there are ---------------------------------------------------------------------------------------

    def of_kind(self, kind: ConnectionType) -> list[Peer]:
        """Return the peers of a kind."""
        return [peer for peer in self._peers.peers.values() if peer.connection_type is kind]

    def is_connected_to(self, endpoint: Endpoint) -> bool:
        """Whether there is a connection to an address and port."""
        return any(peer.endpoint == endpoint for peer in self._peers.peers.values())

    def is_connected_to_address(self, address: NetAddress) -> bool:
        """Whether there is a connection to an address, on any port."""
        return any(peer.endpoint.address == address for peer in self._peers.peers.values())

    def is_connected_to_name(self, name: str) -> bool:
        """Whether there is a connection under the name that the operator gave."""
        return any(peer.name == name for peer in self._peers.peers.values())

    def set_active(self, active: bool) -> None:
        """Take part in the network or leave it; existing connections end."""
        logger.info("SetNetworkActive: %s", str(active).lower())
        self.active = active
        if not active:
            for peer in list(self._peers.peers.values()):
                peer.disconnect("Network not active")

    def leave_name(self, name: str) -> bool:
        """Leave the first peer under a name (its address and port); False if there is none."""
        shown = f"={name}" if self._context.options.log_ips else ""
        found = [peer for peer in self._peers.peers.values() if peer.name == name]
        return self._leave(found[:1], f"disconnect by address{shown} match")

    def leave_range(self, subnet: Subnet) -> bool:
        """Leave all peers of a range; False if there are none."""
        shown = f"={subnet}" if self._context.options.log_ips else ""
        found = [peer for peer in self._peers.peers.values() if peer.endpoint.address in subnet]
        return self._leave(found, f"disconnect by subnet{shown} match")

    def leave_id(self, peer_id: int) -> bool:
        """Leave the peer with an id; False if there is none."""
        peer = self._peers.peers.get(peer_id)
        return peer is not None and self._leave([peer], "disconnect by id")

    def _leave(self, peers: Iterable[Peer], reason: str) -> bool:
        left = False
        for peer in peers:
            peer.disconnect(reason)
            left = True
        return left

    # --- new ones ---------------------------------------------------------------------------------------------------

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, bind: Bind) -> None:
        """Let a peer in that connects to us, if it may come, and serve it to its end."""
        try:
            endpoint, bound_to = self._endpoint(writer, "peername"), self._endpoint(writer, "sockname")
        except OSError:
            # It has gone already.
            writer.close()
            return
        # Tor hides who it is, so the address says nothing.
        address = None if bind.onion else endpoint.address
        permissions = self._context.options.whitelist.inbound(address, bind.permissions)
        refusal = self._refusal(endpoint.address, permissions)
        if refusal:
            logger.debug(refusal, endpoint)
            writer.close()
            return
        peer_id = self._peers.next_id()
        transport: Transport
        if self._context.options.v2_transport:
            # Falls back to the first transport by itself.
            transport = V2Transport(self._context.params.magic, initiating=False, peer_id=peer_id)
        else:
            transport = V1Transport(self._context.params.magic, peer_id)
        peer = self._make(peer_id, endpoint, ConnectionType.INBOUND, transport, bound_to, permissions=permissions)
        peer.onion_inbound = bind.onion
        peer.prefers_eviction = self._bans.is_discouraged(endpoint.address)
        network = Network.ONION if bind.onion else endpoint.address.network_class
        peer.network_key = self._network_key(network, bound_to, bound_to.port)
        connection = self._connect(reader, writer, peer)
        logger.debug("connection from %s accepted", endpoint)
        await connection.run()

    def begin(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        endpoint: Endpoint,
        kind: ConnectionType,
        *,
        use_v2: bool,
        name: str = "",
        ended: Callable[[Peer], None] = lambda peer: None,
    ) -> Peer:
        """Serve a connection that we opened from now on, and return its peer. `ended` is called at its end."""
        # A proxy at a path in the file system has no address.
        bound_to = self._endpoint(writer, "sockname") if _has_address(writer) else NO_ENDPOINT
        peer_id = self._peers.next_id()
        magic = self._context.params.magic
        transport: Transport
        transport = V2Transport(magic, initiating=True, peer_id=peer_id) if use_v2 else V1Transport(magic, peer_id)
        manual = kind is ConnectionType.MANUAL
        permissions = self._context.options.whitelist.outbound(endpoint.address) if manual else Permission.NONE
        peer = self._make(peer_id, endpoint, kind, transport, bound_to, permissions=permissions, name=name)
        peer.network_key = self._network_key(endpoint.address.network_class, bound_to, 0)
        connection = self._connect(reader, writer, peer)

        async def serve() -> None:
            try:
                await connection.run()
            finally:
                ended(peer)

        self._spawn(serve())
        return peer

    def _refusal(self, address: NetAddress, permissions: Permission) -> str:
        """Return the log line of a connection that is not let in, empty if it is. May make room for it."""
        if not self.active:
            return "connection from %s dropped: not accepting new connections"
        no_ban = permissions & Permission.NO_BAN == Permission.NO_BAN
        if not no_ban and self._bans.is_banned(address):
            return "connection from %s dropped (banned)"
        inbound = len(self.of_kind(ConnectionType.INBOUND))
        # Who misbehaved may come as long as there is room.
        if not no_ban and inbound + 1 >= self._limits.inbound and self._bans.is_discouraged(address):
            return "connection from %s dropped (discouraged)"
        if inbound >= self._limits.inbound and not self._evict():
            return "failed to find an eviction candidate - connection from %s dropped (full)"
        return ""

    def _evict(self) -> bool:
        """Leave the inbound peer that is worth least; False if all are worth keeping."""
        peers = self._peers.peers
        chosen = select_peer_to_evict([_candidate(peer) for peer in peers.values() if not peer.leaving])
        if chosen is None:
            return False
        peers[chosen].disconnect(f"selected {peers[chosen].connection_type.value} connection for eviction")
        return True

    def _make(
        self,
        peer_id: int,
        endpoint: Endpoint,
        kind: ConnectionType,
        transport: Transport,
        bound_to: Endpoint,
        *,
        permissions: Permission,
        name: str = "",
    ) -> Peer:
        peer = Peer(
            peer_id,
            endpoint,
            kind,
            transport,
            name=name,
            bound_to=bound_to,
            permissions=permissions,
            our_services=self._context.local_services,
            connected_us=self._context.clock.now_us(),
            log_ips=self._context.options.log_ips,
        )
        peer.group = self._hash(b"group", self._context.groups.group_of(endpoint.address))
        if self._capture is not None:
            peer.capture = self._capture.of_peer(endpoint)
        return peer

    def _endpoint(self, writer: asyncio.StreamWriter, which: str) -> Endpoint:
        """Return a socket's own address (`sockname`) or the other's (`peername`). Raises OSError if it has none."""
        found = writer.get_extra_info(which)
        if not found or not isinstance(found, tuple):
            raise OSError("the socket has no address")
        host, port = found[:2]
        address = parse_address(host)
        if address is None:
            raise OSError(f"{host} is nobody's address")
        return Endpoint(self._context.options.local_view(from_v1(address.to_v1())), port)

    def _network_key(self, network: Network, bound_to: Endpoint, port: int) -> int:
        return self._hash(
            b"network", bytes((NETWORK_NUMBERS[network],)), bound_to.address.key, port.to_bytes(2, "little")
        )

    def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer) -> Connection:
        """Return a connection whose peer is one of ours from now on."""
        sock = writer.get_extra_info("socket")
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(reader, writer, peer, self._peers, self._context)
        logger.debug("Added connection%s peer=%d", f" to {peer.name}" if self._context.options.log_ips else "", peer.id)
        self._peers.add(peer)
        return connection


def _has_address(writer: asyncio.StreamWriter) -> bool:
    return isinstance(writer.get_extra_info("sockname"), tuple)


def _candidate(peer: Peer) -> Candidate:
    return Candidate(
        id=peer.id,
        connected_us=peer.connected_us,
        shortest_ping_us=peer.state(PingState).shortest_us,
        last_block=peer.last_block,
        last_transaction=peer.last_transaction,
        has_wanted_services=peer.has_wanted_services,
        relays_txs=peer.relays_txs,
        has_bloom_filter=peer.state(BloomState).filter is not None,
        group=peer.group,
        prefer_evict=peer.prefers_eviction,
        is_local=peer.endpoint.address.is_local,
        network=peer.network,
        is_protected=peer.may(Permission.NO_BAN) or not peer.is_inbound,
    )
