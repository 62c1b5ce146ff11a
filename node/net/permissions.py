"""What a peer may do beyond what everybody may.

Owns: the permissions, their names and how options say them. Never: enforcing them.
Source: Bitcoin Core's src/net_permissions.{h,cpp}.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntFlag

from clarion.node.errors import ConfigError
from clarion.node.net.address import Endpoint, NetAddress, parse_endpoint
from clarion.node.net.subnet import Subnet, parse_subnet


class Permission(IntFlag):
    """A set of permissions. Some imply others."""

    NONE = 0
    BLOOM_FILTER = 1 << 1
    RELAY = 1 << 3
    FORCE_RELAY = 1 << 2 | RELAY
    DOWNLOAD = 1 << 6
    NO_BAN = 1 << 4 | DOWNLOAD
    MEMPOOL = 1 << 5
    ADDR = 1 << 7
    ALL = BLOOM_FILTER | FORCE_RELAY | NO_BAN | MEMPOOL | ADDR
    IMPLICIT = 1 << 31
    """Permissions were given without naming them; -whitelistrelay and -whitelistforcerelay say which."""


NAMES = {
    "bloomfilter": Permission.BLOOM_FILTER,
    "noban": Permission.NO_BAN,
    "forcerelay": Permission.FORCE_RELAY,
    "relay": Permission.RELAY,
    "mempool": Permission.MEMPOOL,
    "download": Permission.DOWNLOAD,
    "addr": Permission.ADDR,
}
"""By name, in the order in which answers list them."""

_SAID = {**NAMES, "bloom": Permission.BLOOM_FILTER, "all": Permission.ALL, "": Permission.NONE}


def permission_names(permissions: Permission) -> list[str]:
    """Return the names of all permissions that are given, as getpeerinfo lists them."""
    return [name for name, flags in NAMES.items() if permissions & flags == flags]


@dataclass(frozen=True, slots=True)
class PermittedRange:
    """Addresses that have permissions; `inbound` and `outbound` say for which connections."""

    subnet: Subnet
    permissions: Permission
    inbound: bool
    outbound: bool


@dataclass(frozen=True, slots=True)
class PermittedBind:
    """An address to listen on whose peers have permissions."""

    endpoint: Endpoint
    permissions: Permission


@dataclass(frozen=True, slots=True)
class Whitelist:
    """Who is trusted with more. `relay` and `force_relay` count where permissions are not named."""

    ranges: tuple[PermittedRange, ...] = ()
    binds: tuple[PermittedBind, ...] = ()
    relay: bool = True
    force_relay: bool = False

    def inbound(self, address: NetAddress | None, given: Permission = Permission.NONE) -> Permission:
        """Return what an inbound peer may; `given` comes with the address that it connected to.

        `address` is None where it is hidden (Tor).
        """
        return self._permissions(address, given, [each for each in self.ranges if each.inbound])

    def outbound(self, address: NetAddress | None) -> Permission:
        """Return what a peer may that the operator had us connect to."""
        return self._permissions(address, Permission.NONE, [each for each in self.ranges if each.outbound])

    def _permissions(
        self, address: NetAddress | None, given: Permission, ranges: Iterable[PermittedRange]
    ) -> Permission:
        for each in ranges:
            if address is not None and address in each.subnet:
                given |= each.permissions
        if not given & Permission.IMPLICIT:
            return given
        given = (given & ~Permission.IMPLICIT) | Permission.MEMPOOL | Permission.NO_BAN
        if self.force_relay:
            given |= Permission.FORCE_RELAY
        return given | Permission.RELAY if self.relay else given


def parse_permitted_range(text: str) -> PermittedRange:
    """Return what one -whitelist says. Raises ConfigError as the reference words it."""
    permissions, directions, net = _split(text)
    subnet = parse_subnet(net)
    if subnet is None:
        raise ConfigError(f"Invalid netmask specified in -whitelist: '{net}'")
    return PermittedRange(subnet, permissions, "in" in directions or not directions, "out" in directions)


def parse_permitted_bind(text: str) -> PermittedBind:
    """Return what one -whitebind says. Raises ConfigError as the reference words it."""
    permissions, directions, where = _split(text)
    if "out" in directions:
        raise ConfigError('whitebind may only be used for incoming connections ("out" was passed)')
    endpoint = parse_endpoint(where, 0)
    if endpoint is None:
        raise ConfigError(f"Cannot resolve -whitebind address: '{where}'")
    if endpoint.port == 0:
        raise ConfigError(f"Need to specify a port with -whitebind: '{where}'")
    return PermittedBind(endpoint, permissions)


def _split(text: str) -> tuple[Permission, set[str], str]:
    """Return (permissions, directions that are named, the rest) of `[permissions@]rest`. Raises ConfigError."""
    names, at, rest = text.partition("@")
    if not at:
        return Permission.IMPLICIT, set(), text
    permissions, directions = Permission.NONE, set()
    for name in names.split(","):
        if name in ("in", "out"):
            directions.add(name)
        elif name in _SAID:
            permissions |= _SAID[name]
        else:
            raise ConfigError(f"Invalid P2P permission: '{name}'")
    if directions and not permissions:
        raise ConfigError(f"Only direction was set, no permissions: '{text}'")
    return permissions, directions, rest
