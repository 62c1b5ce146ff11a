"""The values of the options that say which networks there are and how they are reached.

Owns: -onlynet, -proxy, -onion, -torcontrol, -torpassword, -cjdnsreachable, -i2psam and how they act on each other. Never: connecting.
"""

import socket
from collections.abc import Sequence

from clarion.node.errors import ConfigError
from clarion.node.net.address import Endpoint, Network, parse_address, parse_endpoint, split_host_port
from clarion.node.net.options import TOR_CONTROL, TorOptions
from clarion.node.net.proxy import DEFAULT_PORT, UNIX_PREFIX, Proxies, Proxy
from clarion.node.options.reader import OptionReader

_NAMES = {network.value: network for network in (
    Network.IPV4, Network.IPV6, Network.ONION, Network.I2P, Network.CJDNS,
)}  # fmt: skip
_CLEAR = (Network.IPV4, Network.IPV6)
_LONGEST_PATH = 107


def parse_network(name: str) -> Network | None:
    """Return the network with a name, in any case; None if there is none."""
    return _NAMES.get(name.lower())


def read_only_networks(read: OptionReader) -> frozenset[Network]:
    """Return the networks of -onlynet, all without it. Raises ConfigError."""
    named = read.texts("onlynet")
    for name in named:
        if parse_network(name) is None:
            raise ConfigError(f"Unknown network specified in -onlynet: '{name}'")
    return frozenset(filter(None, map(parse_network, named))) if named else frozenset(_NAMES.values())


def look_up(text: str, default_port: int, *, dns: bool) -> Endpoint | None:
    """Return the endpoint that a text says in numbers, or by DNS if that is allowed; None if there is none."""
    endpoint = parse_endpoint(text, default_port)
    parts = split_host_port(text, default_port)
    if endpoint is not None or parts is None or not dns:
        return endpoint
    try:
        found = socket.getaddrinfo(*parts, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    address = parse_address(str(found[0][4][0]))
    return None if address is None else Endpoint(address, parts[1])


def read_networks(read: OptionReader, *, listens_on_onion: bool) -> tuple[frozenset[Network], Proxies]:
    """Return the networks that can be reached and the proxies. Raises ConfigError as the reference words it."""
    reachable = set(read_only_networks(read))
    limited = bool(read.texts("onlynet"))
    dns = read.flag("dns", True)
    if not read.flag("cjdnsreachable", False):
        if limited and Network.CJDNS in reachable:
            raise ConfigError(
                "Outbound connections restricted to CJDNS (-onlynet=cjdns) but -cjdnsreachable is not provided"
            )
        reachable.discard(Network.CJDNS)
    isolates = read.flag("proxyrandomize", True)
    proxies, names = _read_proxies(read.texts("proxy"), dns=dns, isolates=isolates)
    _read_onion(read, proxies, reachable if limited else set(), dns=dns, isolates=isolates)
    if Network.ONION not in proxies:
        if limited and Network.ONION in reachable and not listens_on_onion:
            raise ConfigError(
                "Outbound connections restricted to Tor (-onlynet=onion) but the proxy for reaching the Tor network is "
                "not provided: none of -proxy, -onion or -listenonion is given"
            )
        reachable.discard(Network.ONION)
    _read_i2p(read.text("i2psam"), reachable, limited=limited, dns=dns)
    return frozenset(reachable), Proxies(proxies, names)


def _read_proxies(texts: Sequence[str], *, dns: bool, isolates: bool) -> tuple[dict[Network, Proxy], Proxy | None]:
    """Return the proxies by network and the one for names. A later option replaces an earlier one, also by none."""
    chosen: dict[Network, Proxy | None] = {}
    names: Proxy | None = None
    for text in texts:
        where, equals, network_name = text.rpartition("=") if "=" in text else (text, "", "")
        if equals and not network_name:
            raise ConfigError(f"Invalid -proxy address or hostname, ends with '=': '{text}'")
        proxy = None if where in ("", "0") else _proxy("proxy", where, dns=dns, isolates=isolates)
        network = parse_network(network_name)
        if not equals:
            chosen = dict.fromkeys((*_CLEAR, Network.CJDNS, Network.ONION), proxy)
        elif network is None or network is Network.I2P:
            raise ConfigError(f"Unrecognized network in -proxy='{text}': '{network_name.lower()}'")
        else:
            chosen[network] = proxy
        if not equals or network in _CLEAR:
            names = proxy
    return {network: proxy for network, proxy in chosen.items() if proxy is not None}, names


def _read_onion(
    read: OptionReader, proxies: dict[Network, Proxy], limited_to: set[Network], *, dns: bool, isolates: bool
) -> None:
    text = read.text("onion")
    if text == "0":
        if Network.ONION in limited_to:
            raise ConfigError(
                "Outbound connections restricted to Tor (-onlynet=onion) but the proxy for reaching the Tor network is "
                "explicitly forbidden: -onion=0"
            )
        proxies.pop(Network.ONION, None)
    elif text:
        proxies[Network.ONION] = _proxy("onion", text, dns=dns, isolates=isolates)


def read_tor(read: OptionReader) -> TorOptions:
    """Return how Tor is asked for an onion service."""
    networks = read.texts("onlynet")
    return TorOptions(
        control=read.text("torcontrol") or TOR_CONTROL,
        password=read.text("torpassword"),
        finds_proxy=not read.text("onion"),
        may_reach=not networks or Network.ONION in read_only_networks(read),
    )


def _read_i2p(text: str, reachable: set[Network], *, limited: bool, dns: bool) -> None:
    """Note that this version does not speak to I2P, whose addresses it only passes on."""
    if text:
        endpoint = look_up(text, 7656, dns=dns)
        if endpoint is None or not endpoint.address.is_valid:
            raise ConfigError(f"Invalid -i2psam address or hostname: '{text}'")
    elif limited and Network.I2P in reachable:
        raise ConfigError("Outbound connections restricted to i2p (-onlynet=i2p) but -i2psam is not provided")
    reachable.discard(Network.I2P)


def _proxy(option: str, text: str, *, dns: bool, isolates: bool) -> Proxy:
    path = text.removeprefix(UNIX_PREFIX)
    if path != text and len(path) <= _LONGEST_PATH:
        return Proxy(None, path, isolates)
    endpoint = None if path != text else look_up(text, DEFAULT_PORT, dns=dns)
    if endpoint is None or not endpoint.address.is_valid:
        raise ConfigError(f"Invalid -{option} address or hostname: '{text}'")
    return Proxy(endpoint, isolates=isolates)
