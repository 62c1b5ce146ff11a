"""The RPC port: which addresses it is bound to, and the listening sockets that workers share.

Owns: -rpcbind, -rpcport and -rpcallowip as far as binding goes. Never: serving.
"""

import errno
import logging
import socket
import time
from collections.abc import Sequence

from clarion.node.errors import ConfigError

_log = logging.getLogger("clarion.http")

BACKLOG = 1024
RETRY_INTERVAL_S = 0.1


def split_host_port(text: str, default_port: int) -> tuple[str, int]:
    """Return (host, port) of `host`, `host:port`, `[v6]` or `[v6]:port`. Raises ConfigError for a bad port."""
    host, port = text, ""
    if text.startswith("["):
        inside, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ConfigError(f"Invalid port specified in -rpcbind: '{text}'")
        host, port = inside, rest[1:]
    elif text.count(":") == 1:
        host, port = text.split(":")
    if not port:
        return host, default_port
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError(f"Invalid port specified in -rpcbind: '{text}'")
    return host, int(port)


def bind_addresses(rpcbind: Sequence[str], rpcport: int, rpcallowip: Sequence[str]) -> list[tuple[str, int]]:
    """Return the (host, port) pairs to bind. Without both -rpcbind and -rpcallowip it is loopback only."""
    if rpcbind and rpcallowip:
        return [split_host_port(text, rpcport) for text in rpcbind]
    if rpcallowip:
        _log.warning("Option -rpcallowip was specified without -rpcbind; this doesn't usually make sense")
    if rpcbind:
        _log.warning(
            "Option -rpcbind was ignored because -rpcallowip was not specified, refusing to allow everyone to connect"
        )
    return [("::1", rpcport), ("127.0.0.1", rpcport)]


def bind_sockets(
    rpcbind: Sequence[str], rpcport: int, rpcallowip: Sequence[str] = (), *, wait_s: float = 5.0
) -> list[socket.socket]:
    """Return listening sockets for the RPC port.

    A port in use is tried again for `wait_s` seconds: workers of a node that was killed need a moment to go. The IPv6
    loopback address may be missing on the machine. Raises ConfigError, one line that names the address.
    """
    addresses = bind_addresses(rpcbind, rpcport, rpcallowip)
    explicit = bool(rpcbind and rpcallowip)
    deadline = time.monotonic() + wait_s
    sockets: list[socket.socket] = []
    for host, port in addresses:
        try:
            bound = _bind(host, port, deadline)
        except OSError as error:
            unusable = error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) or isinstance(error, socket.gaierror)
            if not explicit and host == "::1" and unusable:
                continue
            for other in sockets:
                other.close()
            raise ConfigError(_explain(host, port, error)) from error
        sockets += bound
    return sockets


def _explain(host: str, port: int, error: OSError) -> str:
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"Unable to bind to {shown} on this computer: the RPC port is in use. Is Clarion already running?"
    return f"Unable to bind to {shown} on this computer ({error.strerror or error})"


def _bind(host: str, port: int, deadline: float) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, kind, protocol, _, address in dict.fromkeys(infos):
        while True:
            listener = socket.socket(family, kind, protocol)
            try:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind(address)
                # Listening at once is what makes a second bind fail, here and in another program.
                listener.listen(BACKLOG)
                listener.setblocking(False)
            except OSError as error:
                listener.close()
                if error.errno == errno.EADDRINUSE and time.monotonic() < deadline:
                    time.sleep(RETRY_INTERVAL_S)
                    continue
                for other in sockets:
                    other.close()
                raise
            sockets.append(listener)
            break
    return sockets
