"""The addresses of this machine's network interfaces.

Owns: finding them. Never: whether anybody can reach them.
"""

import contextlib
import socket
import struct
from pathlib import Path

from clarion.node.net.address import NetAddress, from_v1, parse_address

_GET_ADDRESS = 0x8915
"""SIOCGIFADDR of Linux."""
_IPV6_TABLE = Path("/proc/net/if_inet6")


def interface_addresses() -> list[NetAddress]:
    """Return the addresses other than loopback ones; where the system is not known, those of the machine's name."""
    found = [*_ipv4(), *_ipv6()] if _IPV6_TABLE.exists() else _by_name()
    return [address for address in found if not address.is_local]


def _ipv4() -> list[NetAddress]:
    import fcntl

    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _, name in socket.if_nameindex():
            # An interface without an IPv4 address has none to give.
            with contextlib.suppress(OSError):
                answer = fcntl.ioctl(sock.fileno(), _GET_ADDRESS, struct.pack("256s", name.encode()[:15]))
                found.append(parse_address(socket.inet_ntoa(answer[20:24])))
    return [address for address in found if address is not None]


def _ipv6() -> list[NetAddress]:
    return [from_v1(bytes.fromhex(line.split()[0])) for line in _IPV6_TABLE.read_text().splitlines()]


def _by_name() -> list[NetAddress]:
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    addresses = [parse_address(str(sockaddr[0])) for *_, sockaddr in found]
    return [address for address in addresses if address is not None]
