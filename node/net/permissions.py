"""What a peer may do beyond what everybody may.

Owns: the permissions, their names and how options say them. Never: enforcing them.
Source: Bitcoin Core's src/net_permissions.{h,cpp}.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntFlag

from clarion.node.errors import ConfigError
from clarion.node.net.address import NetAddress
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


def permission_names(permissions: Permission) -> list[str]:
    """Return the names of all permissions that are given, as getpeerinfo lists them."""
    return [name for name, flags in NAMES.items() if permissions & flags == flags]


_OPTION_NAMES = NAMES | {"bloom": Permission.BLOOM_FILTER, "all": Permission.ALL}


@dataclass(frozen=True, slots=True)
class PermissionText:
    """What stands before and behind the `@` of an option. Without a direction it is about inbound connections."""

    permissions: Permission
    inbound: bool
    outbound: bool
    rest: str


def parse_permissions(text: str) -> PermissionText:
    """Return the parts of `permission,permission@rest`; without `@` the permissions are IMPLICIT. Raises ConfigError."""
    names, at, rest = text.partition("@")
    if not at:
        return PermissionText(Permission.IMPLICIT, True, False, text)
    permissions, inbound, outbound = Permission.NONE, False, False
    for name in filter(None, names.split(",")):
        if name == "in":
            inbound = True
        elif name == "out":
            outbound = True
        elif name in _OPTION_NAMES:
            permissions |= _OPTION_NAMES[name]
        else:
            raise ConfigError(f"Invalid P2P permission: '{name}'")
    if (inbound or outbound) and permissions == Permission.NONE:
        raise ConfigError(f"Only direction was set, no permissions: '{text}'")
    return PermissionText(permissions, inbound or not outbound, outbound, rest)


@dataclass(frozen=True, slots=True)
class Whitelisted:
    """Peers of a subnet with permissions, for connections of a direction."""

    subnet: Subnet
    permissions: Permission
    inbound: bool
    outbound: bool


def parse_whitelist(text: str) -> Whitelisted:
    """Return what a -whitelist says. Raises ConfigError."""
    parts = parse_permissions(text)
    subnet = parse_subnet(parts.rest)
    if subnet is None:
        raise ConfigError(f"Invalid netmask specified in -whitelist: '{parts.rest}'")
    return Whitelisted(subnet, parts.permissions, parts.inbound, parts.outbound)


def granted(
    given: Permission, address: NetAddress | None, entries: Iterable[Whitelisted], implied: Permission
) -> Permission:
    """Return `given` and what `entries` grant to an address; `implied` takes the place of IMPLICIT."""
    for entry in entries:
        if address is not None and address in entry.subnet:
            given |= entry.permissions
    return given & ~Permission.IMPLICIT | implied if given & Permission.IMPLICIT else given
