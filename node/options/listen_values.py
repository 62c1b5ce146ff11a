"""The values of the options about listening, and about who is trusted with more.

Owns: -listen, -bind, -whitebind, -whitelist, -externalip and how they act on each other. Never: sockets.
"""

from collections.abc import Sequence

from clarion.node.errors import ConfigError
from clarion.node.net.address import Endpoint, parse_endpoint, split_host_port
from clarion.node.net.permissions import Whitelist, parse_permitted_bind, parse_permitted_range
from clarion.node.options.proxy_values import look_up
from clarion.node.options.reader import OptionReader

_WITH_PORTS = {"i2psam": False, "onion": False, "proxy": True, "bind": True, "torcontrol": False, "whitebind": False}
"""Options that name a port, and whether something may follow behind `=`."""


def check_ports(read: OptionReader) -> None:
    """Refuse ports that are none, before anything is made of the addresses. Raises ConfigError."""
    for name, suffix in _WITH_PORTS.items():
        for text in read.texts(name):
            where = text.rpartition("=")[0] if suffix and "=" in text else text
            if split_host_port(where, 1) is None and not where.startswith("unix:"):
                raise ConfigError(f"Invalid port specified in -{name}: '{text}'")


def read_listen(read: OptionReader, *, alone: bool) -> bool:
    """Return whether to listen; `alone`: only nodes that were named are wanted. Raises ConfigError."""
    asked = bool(read.texts("bind") or read.texts("whitebind"))
    listen = read.flag("listen", asked or not (alone or has_proxy(read)))
    if not listen and asked:
        raise ConfigError("Cannot set -bind or -whitebind together with -listen=0")
    if not listen and read.flag("listenonion", False):
        raise ConfigError("Cannot set -listen=0 together with -listenonion=1")
    return listen


def has_proxy(read: OptionReader) -> bool:
    """Whether the last -proxy says that there is one."""
    return any(text not in ("", "0") for text in read.texts("proxy")[-1:])


def read_binds(read: OptionReader) -> tuple[tuple[Endpoint, ...], tuple[Endpoint, ...]]:
    """Return where to listen, and where Tor delivers to us. Raises ConfigError."""
    plain: list[Endpoint] = []
    onion: list[Endpoint] = []
    for text in read.texts("bind"):
        where, suffix, kind = text.rpartition("=")
        endpoint = parse_endpoint(where if suffix else text, 0)
        if endpoint is None or (suffix and kind != "onion"):
            raise ConfigError(f"Cannot resolve -bind address: '{text}'")
        (onion if suffix else plain).append(endpoint)
    return tuple(plain), tuple(onion)


def check_doubled_binds(binds: Sequence[Endpoint], onion_binds: Sequence[Endpoint], whitelist: Whitelist) -> None:
    """Refuse an address that is to be bound twice. Raises ConfigError."""
    seen: set[Endpoint] = set()
    for endpoint in (*binds, *onion_binds, *(each.endpoint for each in whitelist.binds)):
        if endpoint in seen:
            raise ConfigError(
                f"Duplicate binding configuration for address {endpoint}. "
                "Please check your -bind, -bind=...=onion and -whitebind settings."
            )
        seen.add(endpoint)


def read_whitelist(read: OptionReader) -> Whitelist:
    """Return who may do more. Raises ConfigError."""
    return Whitelist(
        ranges=tuple(map(parse_permitted_range, read.texts("whitelist"))),
        binds=tuple(map(parse_permitted_bind, read.texts("whitebind"))),
        relay=read.flag("whitelistrelay", not read.flag("blocksonly", False)),
        force_relay=read.flag("whitelistforcerelay", False),
    )


def read_external_addresses(read: OptionReader) -> tuple[Endpoint, ...]:
    """Return the addresses that the operator says are ours; port 0: the one that we listen on. Raises ConfigError."""
    found = []
    for text in read.texts("externalip"):
        endpoint = look_up(text, 0, dns=read.flag("dns", True))
        if endpoint is None or not endpoint.address.is_valid:
            raise ConfigError(f"Cannot resolve -externalip address: '{text}'")
        found.append(endpoint)
    return tuple(found)
