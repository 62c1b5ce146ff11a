"""Which addresses a webhook may reach: the internet's, not the operator's own network.

Owns: resolving a name and judging every address that it has. Never: connecting.
A URL may come from a customer. What it names must not lead to the machine itself, to the network behind it or to a
cloud's metadata service, whatever the name resolves to at this moment.
"""

import ipaddress
import socket

from clarion.node.errors import DeliveryError

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SITE_LOCAL = ipaddress.ip_network("fec0::/10")


def is_public(address: _Address) -> bool:
    """Whether the address belongs to the internet, and so does the IPv4 address that may be hidden in it."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return is_public(inner)
        if address in _SITE_LOCAL:
            return False
    return address.is_global and not address.is_multicast


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that a mapped, 6to4, Teredo or NAT64 address leads to."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo is not None:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour


def resolve(host: str, port: int, *, allow_private: bool) -> list[str]:
    """Return the numeric addresses of a host. Raises DeliveryError if it has none, or one that may not be reached.

    One private address among public ones refuses them all: who answers so is not to be trusted.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise DeliveryError(f"{host}: {error.strerror or error}") from None
    except UnicodeError:
        raise DeliveryError(f"{host}: no host name") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for text in addresses:
        # A scope (fe80::1%eth0) belongs to the machine's own links.
        if not allow_private and ("%" in text or not is_public(ipaddress.ip_address(text))):
            raise DeliveryError(f"{host} leads to {text}, which is not on the internet: allow it with private=1")
    return addresses
