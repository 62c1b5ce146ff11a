"""The values of the network's options.

Owns: how they act on each other. Never: what the network does with them.
"""

import re
from collections.abc import Sequence

from clarion.node.errors import ConfigError
from clarion.node.net.address import Network
from clarion.node.net.options import NetOptions, SeedOptions
from clarion.node.net.user_agent import user_agent
from clarion.node.options.index_values import read_peer_block_filters
from clarion.node.options.listen_values import (
    check_doubled_binds,
    check_ports,
    has_proxy,
    read_binds,
    read_external_addresses,
    read_listen,
    read_whitelist,
)
from clarion.node.options.proxy_values import read_networks, read_tor
from clarion.node.options.reader import OptionReader
from clarion.node.options.settings import Value
from clarion.node.options.values import check_port

_UNITS = {
    letter: base**power
    for power, pair in enumerate(("kK", "mM", "gG", "tT"), 1)
    for letter, base in zip(pair, (1000, 1024), strict=True)
}
_CLEAR = frozenset((Network.IPV4, Network.IPV6))


def read_net_options(ua_comments: Sequence[str], read: OptionReader) -> NetOptions:
    """Return what was said about the network; `ua_comments` become part of the user agent. Raises ConfigError."""
    connect = _connect(read)
    max_connections = read.number("maxconnections", 125)
    if max_connections < 0:
        raise ConfigError("-maxconnections must be greater or equal than zero")
    peer_timeout_s = read.number("peertimeout", 60)
    if peer_timeout_s <= 0:
        raise ConfigError("peertimeout must be a positive integer.")
    check_ports(read)
    alone = connect is not None or max_connections == 0
    listen = read_listen(read, alone=alone)
    listens_on_onion = read.flag("listenonion", listen)
    reachable, proxies = read_networks(read, listens_on_onion=listens_on_onion)
    binds, onion_binds = read_binds(read)
    whitelist = read_whitelist(read)
    check_doubled_binds(binds, onion_binds, whitelist)
    external = read_external_addresses(read)
    port: Value | None = read.settings.get("port")
    timeout_ms = read.number("timeout", 5_000)
    return NetOptions(
        listen=listen,
        port=None if port is None else check_port("port", read.text("port")),
        binds=binds,
        onion_binds=onion_binds,
        whitelist=whitelist,
        connect=connect,
        add_node=read.texts("addnode"),
        seeds=_seeds(read, reachable, alone=alone),
        reachable=reachable,
        proxies=proxies,
        asmap=_asmap(read),
        tor=read_tor(read) if listens_on_onion else None,
        dns=read.flag("dns", True),
        discover=read.flag("discover", listen and not external and not has_proxy(read)),
        external=external,
        max_connections=max_connections,
        max_upload_bytes=_byte_units("maxuploadtarget", read.text("maxuploadtarget", "0M")),
        ban_time_s=read.number("bantime", 86_400),
        network_active=read.flag("networkactive", True),
        v2_transport=read.flag("v2transport", True),
        timeout_ms=timeout_ms if timeout_ms > 0 else 5_000,
        peer_timeout_s=peer_timeout_s,
        extra_transactions=max(0, read.number("blockreconstructionextratxn", 100)),
        blocks_only=read.flag("blocksonly", False),
        max_send_buffer=1_000 * read.number("maxsendbuffer", 1_000),
        max_receive_buffer=1_000 * read.number("maxreceivebuffer", 5_000),
        log_ips=read.flag("logips", False),
        capture_messages=read.flag("capturemessages", False),
        check_addresses=min(max(0, read.number("checkaddrman", 0)), 1_000_000),
        fixed_address_key="addrman" in read.texts("test"),
        peer_block_filters=read_peer_block_filters(read),
        peer_bloom_filters=read.flag("peerbloomfilters", False),
        subversion=user_agent(ua_comments),
    )


def _connect(read: OptionReader) -> tuple[str, ...] | None:
    """Return the only nodes to connect to; `-noconnect` and `-connect=0` are nobody."""
    if read.settings.get("connect") is None:
        return None
    names = read.texts("connect")
    return () if names in ((), ("0",)) else names


def _asmap(read: OptionReader) -> str | None:
    """Return the name of the map's file; as the reference's own builds may, ours have none built in."""
    if read.settings.get("asmap") in (None, False):
        return None
    name = read.text("asmap")
    number = re.match(r"\s*[-+]?\d+", name)
    # A truth value, as the reference reads one, is no name.
    if not name or (number is not None and int(number[0])):
        raise ConfigError("Embedded asmap data not available")
    return name


def _seeds(read: OptionReader, reachable: frozenset[Network], *, alone: bool) -> SeedOptions:
    """Return where to learn of other nodes."""
    has_clear = bool(reachable & _CLEAR)
    dns_seed = read.flag("dnsseed", not alone and has_clear)
    force_dns_seed = read.flag("forcednsseed", False)
    if force_dns_seed and not dns_seed:
        raise ConfigError("Cannot set -forcednsseed to true when setting -dnsseed to false.")
    if dns_seed and not has_clear:
        raise ConfigError(
            "Incompatible options: -dnsseed=1 was explicitly specified, but -onlynet forbids connections to IPv4/IPv6"
        )
    return SeedOptions(
        nodes=read.texts("seednode"),
        dns=dns_seed,
        force_dns=force_dns_seed,
        fixed=read.flag("fixedseeds", True),
    )


def _byte_units(name: str, text: str) -> int:
    """Return bytes; without a unit the number is of megabytes. Small letters are powers of 1000, large ones of 1024."""
    unit, digits = (text[-1], text[:-1]) if text[-1:] in _UNITS else ("M", text)
    amount = int(digits) * _UNITS[unit] if digits.isascii() and digits.isdigit() else 1 << 64
    if amount >= 1 << 64:
        raise ConfigError(f"Unable to parse -{name}: '{text}'")
    return amount
