"""Opening connections: to an address, or to a name that the operator gave.

Owns: resolving, dialling, and another try with the first transport. Never: whom to connect to.
Source: Bitcoin Core's src/net.cpp (OpenNetworkConnection, ConnectNode).
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from clarion.node.net.address import Endpoint, parse_address, parse_endpoint, split_host_port
from clarion.node.net.bans import BanList
from clarion.node.net.connections import Connections
from clarion.node.net.context import NetContext
from clarion.node.net.peer import ConnectionType, Peer
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
        spawn: Callable[[Awaitable[Any]], None],
    ) -> None:
        """`spawn` runs work beside everything else."""
        self._context = context
        self._connections = connections
        self._bans = bans
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
                    opened = await self._dial(endpoint, kind, use_v2, name, slot)
                    if opened:
                        break
        finally:
            if slot is not None and not opened:
                slot.free()
        return opened

    async def open_address(
        self, endpoint: Endpoint, kind: ConnectionType, *, use_v2: bool, slot: Slot | None = None
    ) -> bool:
        """Connect to an address that is welcome and that we are not connected to; whether there is a connection now."""
        opened = False
        address = endpoint.address
        try:
            welcome = not self._bans.is_unwelcome(address)
            if self._connections.active and welcome and not self._connections.is_connected_to_address(address):
                logger.debug("trying %s connection (%s) to %s", _transport_name(use_v2), kind.value, endpoint)
                opened = await self._dial(endpoint, kind, use_v2, "", slot)
        finally:
            if slot is not None and not opened:
                slot.free()
        return opened

    async def _resolved(self, name: str) -> list[Endpoint]:
        """Return the addresses of a name in random order, none if we are connected to one of them."""
        found = await resolve(name, self._context.params.default_port)
        random.shuffle(found)
        for endpoint in found:
            if not endpoint.address.is_valid:
                logger.debug("Resolver returned invalid address %s for %s", endpoint, name)
                return []
            if self._connections.is_connected_to(endpoint):
                logger.info("Not opening a connection to %s, already connected to %s", name, endpoint)
                return []
        return found

    async def _dial(self, endpoint: Endpoint, kind: ConnectionType, use_v2: bool, name: str, slot: Slot | None) -> bool:
        opened = await self._connect(endpoint)
        if opened is None:
            return False
        ended = partial(self._ended, kind=kind, name=name, slot=slot)
        self._connections.begin(*opened, endpoint, kind, use_v2=use_v2, name=name, ended=ended)
        return True

    async def _connect(self, endpoint: Endpoint) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        try:
            async with asyncio.timeout(self._context.options.timeout_ms / 1000):
                return await asyncio.open_connection(
                    str(endpoint.address), endpoint.port, limit=self._context.options.stream_limit
                )
        except OSError as error:
            logger.debug("connect() to %s failed: %s", endpoint, error)
        except TimeoutError:
            logger.debug("connection attempt to %s timed out", endpoint)
        return None

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


async def resolve(name: str, default_port: int, lookup: bool = True) -> list[Endpoint]:
    """Return the addresses that a text says in numbers or, with `lookup`, that the name has by DNS; none if neither."""
    endpoint = parse_endpoint(name, default_port)
    if endpoint is not None:
        return [endpoint]
    parts = split_host_port(name, default_port)
    if parts is None or not lookup:
        return []
    return [Endpoint(address, parts[1]) for address in await look_up(parts[0], MAX_RESOLVED)]


async def look_up(host: str, most: int) -> list[Any]:
    """Return the addresses that a name has by DNS, none if it has none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=1)
    except OSError:
        return []
    addresses = [parse_address(str(sockaddr[0])) for *_, sockaddr in found[:most]]
    return [address for address in addresses if address is not None]


def _transport_name(use_v2: bool) -> str:
    return "v2" if use_v2 else "v1"
