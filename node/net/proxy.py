"""Connections through a SOCKS5 proxy.

Owns: the proxies that are set, and the talk with one of them. Never: which network a connection needs.
Source: RFC 1928, RFC 1929; Bitcoin Core's src/netbase.cpp.
"""

import asyncio
import itertools
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from clarion.node.errors import PeerError
from clarion.node.net.address import Endpoint, Network

DEFAULT_PORT = 9050
UNIX_PREFIX = "unix:"
ANSWER_TIMEOUT_S = 20.0
_VERSION = 5
_NO_AUTHENTICATION, _USER_AND_PASSWORD = 0, 2
_CONNECT, _NAME = 1, 3
_REPLIES = {
    1: "general failure",
    2: "connection not allowed",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "TTL expired",
    7: "protocol error",
    8: "address type not supported",
    0xF0: "onion service descriptor can not be found",
    0xF1: "onion service descriptor is invalid",
    0xF2: "onion service introduction failed",
    0xF3: "onion service rendezvous failed",
    0xF4: "onion service missing client authorization",
    0xF5: "onion service wrong client authorization",
    0xF6: "onion service invalid address",
    0xF7: "onion service introduction timed out",
}
_ADDRESS_SIZES = {1: 4, 4: 16}

logger = logging.getLogger("clarion.proxy")


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy at an endpoint, or at a socket's path. `isolates`: Tor is to use another circuit for each connection."""

    endpoint: Endpoint | None
    path: str = ""
    isolates: bool = True

    def __str__(self) -> str:
        return f"{UNIX_PREFIX}{self.path}" if self.endpoint is None else str(self.endpoint)


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxy of each network that has one, and that for names, which then are never looked up by us."""

    by_network: Mapping[Network, Proxy] = field(default_factory=dict)
    for_names: Proxy | None = None


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_session = secrets.token_hex(8)
_count = itertools.count()


async def connect_to_proxy(proxy: Proxy, limit: int) -> Streams:
    """Return a connection to the proxy itself. Raises OSError."""
    if proxy.endpoint is None:
        return await asyncio.open_unix_connection(proxy.path, limit=limit)
    return await asyncio.open_connection(str(proxy.endpoint.address), proxy.endpoint.port, limit=limit)


async def connect_through(proxy: Proxy, streams: Streams, host: str, port: int) -> None:
    """Have the proxy connect to a host. Raises PeerError if it does not."""
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            await _negotiate(*streams, host, port, isolates=proxy.isolates)
    except (OSError, EOFError, TimeoutError) as error:
        raise PeerError(f"Socks5() connect to {host}:{port} failed: {error or 'no answer'}") from None


async def _negotiate(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int, *, isolates: bool
) -> None:
    name = host.encode()
    if len(name) > 255:
        raise PeerError("Hostname too long")
    logger.debug("SOCKS5 connecting %s", host)
    methods = bytes((_NO_AUTHENTICATION, _USER_AND_PASSWORD) if isolates else (_NO_AUTHENTICATION,))
    writer.write(bytes((_VERSION, len(methods))) + methods)
    version, method = await reader.readexactly(2)
    if version != _VERSION:
        raise PeerError("Proxy failed to initialize")
    if method == _USER_AND_PASSWORD and isolates:
        await _authenticate(reader, writer)
    elif method != _NO_AUTHENTICATION:
        raise PeerError(f"Proxy requested wrong authentication method {method:02x}")
    writer.write(bytes((_VERSION, _CONNECT, 0, _NAME, len(name))) + name + port.to_bytes(2, "big"))
    version, reply, reserved, kind = await reader.readexactly(4)
    if version != _VERSION:
        raise PeerError("Proxy failed to accept request")
    if reply:
        raise PeerError(f"Socks5() connect to {host}:{port} failed: {_REPLIES.get(reply, f'unknown (0x{reply:02x})')}")
    if reserved:
        raise PeerError("Error: malformed proxy response")
    size = (await reader.readexactly(1))[0] if kind == _NAME else _ADDRESS_SIZES.get(kind)
    if size is None:
        raise PeerError("Error: malformed proxy response")
    # Where the proxy connects from is of no interest.
    await reader.readexactly(size + 2)
    logger.debug("SOCKS5 connected %s", host)


async def _authenticate(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Show credentials that were never shown before: Tor keeps streams with different ones apart."""
    credential = f"{_session}-{next(_count)}".encode()
    field_ = bytes((len(credential),)) + credential
    logger.debug("SOCKS5 sending username/password authentication")
    writer.write(b"\x01" + field_ + field_)
    if await reader.readexactly(2) != b"\x01\x00":
        raise PeerError("Proxy authentication unsuccessful")
