"""Addresses that we listen on.

Owns: the listening sockets, and what each gives to the peers that come in through it. Never: peers.
"""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from clarion.node.errors import ConfigError
from clarion.node.net.address import UNSPECIFIED, Endpoint, NetAddress, Network
from clarion.node.net.options import NetOptions
from clarion.node.net.permissions import Permission

_BACKLOG = 4096
_ANY_V4 = NetAddress(Network.IPV4, bytes(4))
_LOOPBACK_V4 = NetAddress(Network.IPV4, bytes((127, 0, 0, 1)))

logger = logging.getLogger("clarion.net")


@dataclass(frozen=True, slots=True)
class Bind:
    """An address to listen on. `onion`: peers that come through it come by Tor, whatever their address says."""

    endpoint: Endpoint
    permissions: Permission = Permission.NONE
    onion: bool = False
    optional: bool = False
    """Not every machine has IPv6."""


Accept = Callable[[asyncio.StreamReader, asyncio.StreamWriter, Bind], Awaitable[None]]


def binds_of(options: NetOptions, default_port: int) -> list[Bind]:
    """Return what the options ask to listen on, in the order of binding. Raises ConfigError if two are the same."""
    if not options.listen:
        return []
    port = options.port or default_port
    plain = [_with_port(each, port) for each in options.binds]
    trusted = [Bind(each.endpoint, each.permissions) for each in options.whitelist.binds]
    onion = [_with_port(each, port + 1) for each in options.onion_binds]
    anywhere = []
    if not plain and not trusted and not onion:
        anywhere = [Bind(Endpoint(UNSPECIFIED, port), optional=True), Bind(Endpoint(_ANY_V4, port))]
    if not plain and not onion:
        onion = [Endpoint(_LOOPBACK_V4, port + 1)]
    binds = [*map(Bind, plain), *trusted, *[Bind(each, onion=True) for each in onion], *anywhere]
    seen: set[Endpoint] = set()
    for each in binds:
        if each.endpoint in seen:
            raise ConfigError(
                f"Duplicate binding configuration for address {each.endpoint}. "
                "Please check your -bind, -bind=...=onion and -whitebind settings."
            )
        seen.add(each.endpoint)
    return binds


def listen_port_of(options: NetOptions, default_port: int) -> int:
    """Return the port that others are told to connect to."""
    for endpoint in options.binds:
        if endpoint.port:
            return endpoint.port
    for bind in options.whitelist.binds:
        if bind.permissions & Permission.NO_BAN != Permission.NO_BAN:
            return bind.endpoint.port
    return options.port or default_port


class Listener:
    """The listening sockets. `bind` may run on any thread, the rest on the network's."""

    def __init__(self, binds: list[Bind], stream_limit: int, accept: Accept) -> None:
        """`stream_limit`: of a connection at most twice as many bytes are read in advance."""
        self.binds = binds
        self._stream_limit = stream_limit
        self._accept = accept
        self._sockets: list[tuple[Bind, socket.socket]] = []
        self._servers: list[asyncio.Server] = []

    def bind(self) -> None:
        """Take the addresses. Raises ConfigError naming the one that can't be had."""
        for each in self.binds:
            try:
                self._sockets.append((each, _bind(each.endpoint)))
            except ConfigError as error:
                logger.error("%s", error)
                if not each.optional:
                    self._close_sockets()
                    raise
            else:
                logger.info("Bound to %s", each.endpoint)

    async def start(self) -> None:
        """Accept connections from now on."""
        for bind, sock in self._sockets:
            server = await asyncio.start_server(
                self._accepting(bind), sock=sock, backlog=_BACKLOG, limit=self._stream_limit
            )
            self._servers.append(server)

    def close(self) -> None:
        """Accept no more."""
        for server in self._servers:
            server.close()

    def _accepting(self, bind: Bind) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # The server looks at how this ends, and that the network ends is no news.
            with contextlib.suppress(asyncio.CancelledError):
                await self._accept(reader, writer, bind)

        return accept

    def _close_sockets(self) -> None:
        for _, sock in self._sockets:
            sock.close()
        self._sockets = []


def _with_port(endpoint: Endpoint, port: int) -> Endpoint:
    return endpoint if endpoint.port else Endpoint(endpoint.address, port)


def _bind(endpoint: Endpoint) -> socket.socket:
    family = socket.AF_INET6 if endpoint.address.network is not Network.IPV4 else socket.AF_INET
    try:
        sock = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigError(
            f"Couldn't open socket for incoming connections (socket returned error {error.strerror})"
        ) from None
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((str(endpoint.address), endpoint.port))
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"Unable to bind to {endpoint} on this computer. Clarion is probably already running."
            ) from None
        raise ConfigError(
            f"Unable to bind to {endpoint} on this computer (bind returned error {error.strerror})"
        ) from None
    sock.setblocking(False)
    return sock
