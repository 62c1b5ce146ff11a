"""Nodes that the operator wants connections to: -addnode, addnode and -connect.

Owns: the list, and keeping the connections up. Never: how a connection is opened.
Source: Bitcoin Core's src/net.cpp (ThreadOpenAddedConnections, GetAddedNodeInfo).
"""

import asyncio
from dataclasses import dataclass

from clarion.node.net.address import Endpoint, parse_endpoint
from clarion.node.net.connector import Connector, default_port
from clarion.node.net.context import NetContext
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.slots import MAX_ADDED, Slots

RETRY_S = 60.0
"""How long after a try a node is not tried again."""
_PAUSE_S = 0.5
_MOST_LOOKED_AT = 24


@dataclass(slots=True)
class AddedNode:
    """A node, as it was named. `next_try` is a time of the event loop's clock."""

    name: str
    use_v2: bool
    next_try: float = 0.0


class AddedNodes:
    """The list. Belongs to the network thread."""

    def __init__(self, context: NetContext, peers: PeerManager, connector: Connector) -> None:
        self._context = context
        self._peers = peers
        self._connector = connector
        self._slots = Slots(MAX_ADDED)
        self.nodes = [AddedNode(name, context.options.v2_transport) for name in context.options.add_node]

    def add(self, name: str, use_v2: bool) -> bool:
        """Keep a connection to a node from now on; False if that is so already."""
        endpoint = self._endpoint(name)
        for node in self.nodes:
            if node.name == name or (endpoint is not None and self._endpoint(node.name) == endpoint):
                return False
        self.nodes.append(AddedNode(name, use_v2))
        return True

    def remove(self, name: str) -> bool:
        """Stop keeping a connection to a node; False if there was no such wish."""
        kept = [node for node in self.nodes if node.name != name]
        found = len(kept) < len(self.nodes)
        self.nodes = kept
        return found

    def contains(self, endpoint: Endpoint) -> bool:
        """Whether an address, with or without its port, is one of them. A long list is not searched."""
        if len(self.nodes) >= _MOST_LOOKED_AT:
            return False
        texts = (str(endpoint), str(endpoint.address))
        return any(node.name in texts for node in self.nodes)

    def connection(self, node: AddedNode) -> Peer | None:
        """Return the peer that a node is connected as, in either direction."""
        endpoint = self._endpoint(node.name)
        for peer in reversed(self._peers.peers.values()):
            if peer.endpoint == endpoint if endpoint is not None else peer.name == node.name:
                return peer
        return None

    async def keep_added(self) -> None:
        """Look after the list, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            for node in list(self.nodes):
                if loop.time() < node.next_try or self.connection(node) is not None:
                    continue
                slot = await self._slots.take()
                node.next_try = loop.time() + RETRY_S
                await self._connector.open_name(node.name, ConnectionType.MANUAL, use_v2=node.use_v2, slot=slot)
                await asyncio.sleep(_PAUSE_S)
            await asyncio.sleep(_PAUSE_S)

    async def keep_only(self, names: tuple[str, ...]) -> None:
        """Keep connections to the nodes of -connect, for ever; each round takes longer, up to a point."""
        use_v2 = self._context.options.v2_transport
        rounds = 0
        while True:
            for name in names:
                await self._connector.open_name(name, ConnectionType.MANUAL, use_v2=use_v2)
                await asyncio.sleep(_PAUSE_S * min(rounds, 10))
            await asyncio.sleep(_PAUSE_S)
            rounds += 1

    def _endpoint(self, name: str) -> Endpoint | None:
        endpoint = parse_endpoint(name, default_port(name, self._context.params.default_port))
        return endpoint if endpoint is not None and endpoint.address.is_valid else None
