"""Which addresses belong together: whoever has one of a group may well have others of it.

Owns: the groups, by prefixes or by autonomous systems. Never: what their number is limited to.
Source: Bitcoin Core's src/netgroup.cpp.
"""

import logging
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from clarion.node.errors import ConfigError
from clarion.node.net.address import NetAddress, Network
from clarion.node.net.asmap import AsMap, BadMap
from clarion.node.primitives.ids import NULL_HASH

NETWORK_NUMBERS = {
    Network.UNROUTABLE: 0,
    Network.IPV4: 1,
    Network.IPV6: 2,
    Network.ONION: 3,
    Network.I2P: 4,
    Network.CJDNS: 5,
    Network.INTERNAL: 6,
}
"""The reference's numbers of the networks, which go into hashes."""

_HURRICANE_ELECTRIC = bytes.fromhex("20010470")
_PREFIX_BITS = {Network.ONION: 4, Network.I2P: 4, Network.CJDNS: 12, Network.IPV6: 32}


def group_of(address: NetAddress) -> bytes:
    """Return the group: the network's number and the bits that the members share."""
    head = bytes((NETWORK_NUMBERS[address.network_class],))
    if address.network is Network.INTERNAL:
        return head + address.raw
    if not address.is_routable:
        return head
    ipv4 = address.linked_ipv4
    if ipv4 is not None:
        return head + ipv4[:2]
    bits = _PREFIX_BITS[address.network]
    if address.network is Network.IPV6 and address.raw.startswith(_HURRICANE_ELECTRIC):
        # Gives /48 networks to anybody.
        bits = 36
    whole, rest = divmod(bits, 8)
    prefix = address.raw[:whole]
    # The bits behind the prefix are set.
    return head + (prefix + bytes((address.raw[whole] | 0xFF >> rest,)) if rest else prefix)


_IPV4_IN_IPV6 = bytes(10) + b"\xff\xff"
_REMEMBERED = 1 << 17

logger = logging.getLogger("clarion.net")


class NetGroups:
    """The groups under a map of autonomous systems, or without one."""

    def __init__(self, asmap: AsMap | None = None) -> None:
        self._map = asmap
        self._system_of = lru_cache(_REMEMBERED)(asmap.system_of) if asmap is not None else None

    @property
    def has_map(self) -> bool:
        """Whether there is a map."""
        return self._map is not None

    @property
    def version(self) -> bytes:
        """The map's hash, zeros without one."""
        return NULL_HASH if self._map is None else self._map.version

    def system_of(self, address: NetAddress) -> int:
        """Return the number of the autonomous system of an address, 0 if it is unknown or has none."""
        if self._system_of is None or address.network_class not in (Network.IPV4, Network.IPV6):
            return 0
        ipv4 = address.linked_ipv4
        return self._system_of(address.raw if ipv4 is None else _IPV4_IN_IPV6 + ipv4)

    def group_of(self, address: NetAddress) -> bytes:
        """Return the group: the autonomous system where that is known, else what `group_of` returns."""
        system = self.system_of(address)
        # IPv4 and IPv6 addresses of one system are of one group.
        return bytes((NETWORK_NUMBERS[Network.IPV6],)) + system.to_bytes(4, "little") if system else group_of(address)

    def log_health(self, addresses: Iterable[NetAddress]) -> None:
        """Tell how well the map knows the addresses of IPv4 and IPv6 that we do."""
        systems = [self.system_of(address) for address in addresses]
        logger.info(
            "ASMap Health Check: %d clearnet peers are mapped to %d ASNs with %d peers being unmapped",
            len(systems),
            len({system for system in systems if system}),
            systems.count(0),
        )


def load_groups(path: Path | None) -> NetGroups:
    """Return the groups under the map in a file. Raises ConfigError if there is none or it is wrong."""
    if path is None:
        logger.info("Using /16 prefix for IP bucketing")
        return NetGroups()
    try:
        data = path.read_bytes()
        logger.info('Opened asmap file "%s" (%d bytes) from disk', path, len(data))
        groups = NetGroups(AsMap(data))
    except FileNotFoundError:
        raise ConfigError(f'Could not find asmap file "{path}"') from None
    except OSError as error:
        logger.warning("Failed to open asmap file from disk: %s", error.strerror)
        raise ConfigError(f'Could not parse asmap file "{path}"') from None
    except BadMap as error:
        logger.warning('Sanity check of asmap file "%s" failed: %s', path, error)
        raise ConfigError(f'Could not parse asmap file "{path}"') from None
    logger.info("Using asmap version %s for IP bucketing", groups.version[::-1].hex())
    return groups
