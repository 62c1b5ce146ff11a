"""What a peer may do beyond what everybody may.

Owns: the permissions, their names and how options say them. Never: enforcing them.
Source: Bitcoin Core's src/net_permissions.{h,cpp}.
"""

from enum import IntFlag


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
