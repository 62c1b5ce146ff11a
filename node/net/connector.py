"""Opening connections: to an address, or to a name that the operator gave.

Owns: resolving, dialling, and another try with the first transport. Never: whom to connect to.
Source: Bitcoin Core's src/net.cpp (OpenNetworkConnection, ConnectNode).
"""

import asyncio
import logging
import random
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from clarion.node.errors import PeerError
from clarion.node.net.address import (
    NO_ENDPOINT,
    Endpoint,
    NetAddress,
    Network,
    parse_address,
    parse_endpoint,
    split_host_port,
)
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.bans import BanList
from clarion.node.net.connections import Connections
from clarion.node.net.context import NetContext
from clarion.node.net.local_addresses import LocalAddresses
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.proxy import Proxy, Streams, connect_through, connect_to_proxy
from clarion.node.net.slots import Slot

MAX_RESOLVED = 256

logger = logging.getLogger("clarion.net")


class Connector:
    """Dials. Belongs to the network thread."""

    def __init__(
        self,
        context: NetContext,
        connections: Connections,
        bans: BanList,
        addresses: AddressManager,
        own: LocalAddresses,
        spawn: Callable[[Awaitable[Any]], None],
    ) -> None:
        """`spawn` runs work beside everything else."""
        self._context = context
        self._connections = connections
        self._bans = bans
        self._addresses = addresses
        self._own = own
        self._spawn = spawn

    async def open_name(self, name: str, kind: ConnectionType, *, use_v2: bool, slot: Slot | None = None) -> bool:
        """Connect to what the operator named; whether there is a connection now that was not there before.

        A connection keeps `slot` to its end; without one it is free again.
        """
        opened = False
        try:
            if self._connections.active and not self._connections.is_connected_to_name(name):
                logger.debug("trying %s connection (%s) to %s", _transport_name(use_v2), kind.value, name)
                for endpoint in await self._resolved(name):
                    streams = await self._connect(endpoint, name, counts=False)
                    if streams is not None:
                        self._begin(streams, endpoint, kind, use_v2, name, slot)
                        opened = True
                        break
        finally:
            if slot is not None and not opened:
                slot.free()
        return opened

    async def open_address(
        self,
        endpoint: Endpoint,
        kind: ConnectionType,
        *,
        use_v2: bool,
        slot: Slot | None = None,
        counts: bool = False,
    ) -> bool:
        """Connect to an address that is welcome and that we are not connected to; whether there is a connection now.

        `counts`: a failure speaks against the address, not against our own network.
        """
        opened = False
        address = endpoint.address
        try:
            welcome = address not in self._own and not self._bans.is_unwelcome(address)
            if self._connections.active and welcome and not self._connections.is_connected_to_address(address):
                logger.debug("trying %s connection (%s) to %s", _transport_name(use_v2), kind.value, endpoint)
                streams = await self._connect(endpoint, "", counts=counts)
                if streams is not None:
                    self._begin(streams, endpoint, kind, use_v2, "", slot)
                    opened = True
        finally:
            if slot is not None and not opened:
                slot.free()
        return opened

    async def _resolved(self, name: str) -> list[Endpoint]:
        """Return the addresses of a name in random order, none if we are connected to one of them.

        A name that only a proxy may look up has the address NO_ENDPOINT.
        """
        options = self._context.options
        port = default_port(name, self._context.params.default_port)
        found = await resolve(name, port, lookup=options.dns and options.proxies.for_names is None)
        if not found:
            return [NO_ENDPOINT] if options.proxies.for_names is not None else []
        found = [Endpoint(options.local_view(each.address), each.port) for each in found]
        random.shuffle(found)
        for endpoint in found:
            if not endpoint.address.is_valid:
                logger.debug("Resolver returned invalid address %s for %s", endpoint, name)
                return []
            if self._connections.is_connected_to(endpoint):
                logger.info("Not opening a connection to %s, already connected to %s", name, endpoint)
                return []
        return found

    def _begin(
        self, streams: Streams, endpoint: Endpoint, kind: ConnectionType, use_v2: bool, name: str, slot: Slot | None
    ) -> None:
        ended = partial(self._ended, kind=kind, name=name, slot=slot)
        self._connections.begin(*streams, endpoint, kind, use_v2=use_v2, name=name, ended=ended)

    async def _connect(self, endpoint: Endpoint, name: str, *, counts: bool) -> Streams | None:
        """Return a connection to an address, or by the proxy to a name that has none."""
        proxies = self._context.options.proxies
        if endpoint == NO_ENDPOINT:
            parts = split_host_port(name, self._context.params.default_port)
            proxy = proxies.for_names
            return None if parts is None or proxy is None else await self._connect_by_proxy(proxy, *parts)
        proxy = proxies.by_network.get(endpoint.address.public_network)
        try:
            if proxy is None:
                return await self._connect_directly(endpoint)
            logger.debug("Using proxy: %s to connect to %s", proxy, endpoint)
            return await self._connect_by_proxy(proxy, str(endpoint.address), endpoint.port)
        finally:
            self._addresses.attempt(endpoint, counts=counts)

    async def _connect_directly(self, endpoint: Endpoint) -> Streams | None:
        if endpoint.address.network in (Network.ONION, Network.I2P):
            logger.info("Cannot get sockaddr for %s: unsupported network", endpoint)
            return None
        options = self._context.options
        try:
            async with asyncio.timeout(options.timeout_ms / 1000):
                return await asyncio.open_connection(str(endpoint.address), endpoint.port, limit=options.stream_limit)
        except OSError as error:
            logger.debug("connect() to %s failed: %s", endpoint, error)
        except TimeoutError:
            logger.debug("connection attempt to %s timed out", endpoint)
        return None

    async def _connect_by_proxy(self, proxy: Proxy, host: str, port: int) -> Streams | None:
        options = self._context.options
        try:
            async with asyncio.timeout(options.timeout_ms / 1000):
                streams = await connect_to_proxy(proxy, options.stream_limit)
        except (OSError, TimeoutError) as error:
            logger.info("connect() to proxy %s failed: %s", proxy, error)
            return None
        try:
            await connect_through(proxy, streams, host, port)
        except PeerError as error:
            logger.debug("%s", error)
            streams[1].close()
            return None
        return streams

    def _ended(self, peer: Peer, *, kind: ConnectionType, name: str, slot: Slot | None) -> None:
        if not (self._connections.active and peer.transport.should_reconnect_v1):
            if slot is not None:
                slot.free()
            return
        logger.debug("retrying with v1 transport protocol for peer=%d", peer.id)
        if name:
            self._spawn(self.open_name(name, kind, use_v2=False, slot=slot))
        else:
            self._spawn(self.open_address(peer.endpoint, kind, use_v2=False, slot=slot))


def default_port(name: str, port: int) -> int:
    """Return the port that counts where none is named: I2P has no ports."""
    return 0 if name.lower().endswith(".b32.i2p") else port


async def resolve(name: str, port: int, *, lookup: bool) -> list[Endpoint]:
    """Return the addresses that a text says in numbers or, with `lookup`, that the name has by DNS; none if neither."""
    endpoint = parse_endpoint(name, port)
    if endpoint is not None:
        return [endpoint]
    parts = split_host_port(name, port)
    if parts is None or not lookup:
        return []
    return [Endpoint(address, parts[1]) for address in await look_up(parts[0], MAX_RESOLVED)]


async def look_up(host: str, most: int) -> list[NetAddress]:
    """Return the addresses that a name has by DNS, none if it has none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    addresses = [parse_address(str(sockaddr[0])) for *_, sockaddr in found[:most]]
    return [address for address in addresses if address is not None]


def _transport_name(use_v2: bool) -> str:
    return "v2" if use_v2 else "v1"
