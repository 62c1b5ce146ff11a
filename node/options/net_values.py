"""The values of the network's options.

Owns: how they act on each other. Never: what the network does with them.
"""

from collections.abc import Sequence

from clarion.node.errors import ConfigError
from clarion.node.net.address import Endpoint, parse_endpoint, split_host_port
from clarion.node.net.options import NetOptions
from clarion.node.net.permissions import Whitelist, parse_permitted_bind, parse_permitted_range
from clarion.node.net.user_agent import user_agent
from clarion.node.options.index_values import read_peer_block_filters
from clarion.node.options.reader import OptionReader
from clarion.node.options.settings import Value
from clarion.node.options.values import check_port

_WITH_PORTS = {"i2psam": False, "onion": False, "proxy": True, "bind": True, "torcontrol": False, "whitebind": False}
"""Options that name a port, and whether something may follow behind `=`."""

_UNITS = {
    letter: base**power
    for power, pair in enumerate(("kK", "mM", "gG", "tT"), 1)
    for letter, base in zip(pair, (1000, 1024), strict=True)
}


def read_net_options(ua_comments: Sequence[str], read: OptionReader) -> NetOptions:
    """Return what was said about the network; `ua_comments` become part of the user agent. Raises ConfigError."""
    connect = _connect(read)
    max_connections = read.number("maxconnections", 125)
    if max_connections < 0:
        raise ConfigError("-maxconnections must be greater or equal than zero")
    peer_timeout_s = read.number("peertimeout", 60)
    if peer_timeout_s <= 0:
        raise ConfigError("peertimeout must be a positive integer.")
    _check_ports(read)
    asked_to_listen = bool(read.texts("bind") or read.texts("whitebind"))
    alone = connect is not None or max_connections <= 0
    listen = read.flag("listen", asked_to_listen or not (alone or _has_proxy(read)))
    if not listen and asked_to_listen:
        raise ConfigError("Cannot set -bind or -whitebind together with -listen=0")
    if not listen and read.flag("listenonion", False):
        raise ConfigError("Cannot set -listen=0 together with -listenonion=1")
    binds, onion_binds = _binds(read)
    port: Value | None = read.settings.get("port")
    return NetOptions(
        listen=listen,
        port=None if port is None else check_port("port", read.text("port")),
        binds=binds,
        onion_binds=onion_binds,
        whitelist=_whitelist(read),
        connect=connect,
        add_node=read.texts("addnode"),
        max_connections=max_connections,
        max_upload_bytes=_byte_units("maxuploadtarget", read.text("maxuploadtarget", "0M")),
        ban_time_s=read.number("bantime", 86_400),
        network_active=read.flag("networkactive", True),
        v2_transport=read.flag("v2transport", True),
        timeout_ms=read.number("timeout", 5_000) if read.number("timeout", 5_000) > 0 else 5_000,
        peer_timeout_s=peer_timeout_s,
        extra_transactions=max(0, read.number("blockreconstructionextratxn", 100)),
        blocks_only=read.flag("blocksonly", False),
        max_send_buffer=1_000 * read.number("maxsendbuffer", 1_000),
        max_receive_buffer=1_000 * read.number("maxreceivebuffer", 5_000),
        log_ips=read.flag("logips", False),
        peer_block_filters=read_peer_block_filters(read),
        subversion=user_agent(ua_comments),
    )


def _connect(read: OptionReader) -> tuple[str, ...] | None:
    """Return the only nodes to connect to; `-noconnect` and `-connect=0` are nobody."""
    if read.settings.get("connect") is None:
        return None
    names = read.texts("connect")
    return () if names in ((), ("0",)) else names


def _byte_units(name: str, text: str) -> int:
    """Return bytes; without a unit the number is of megabytes. Small letters are powers of 1000, large ones of 1024."""
    unit, digits = (text[-1], text[:-1]) if text[-1:] in _UNITS else ("M", text)
    amount = int(digits) * _UNITS[unit] if digits.isascii() and digits.isdigit() else 1 << 64
    if amount >= 1 << 64:
        raise ConfigError(f"Unable to parse -{name}: '{text}'")
    return amount


def _has_proxy(read: OptionReader) -> bool:
    return any(text not in ("", "0") for text in read.texts("proxy")[-1:])


def _check_ports(read: OptionReader) -> None:
    """Refuse ports that are none, before anything is made of the addresses."""
    for name, suffix in _WITH_PORTS.items():
        for text in read.texts(name):
            where = text.rpartition("=")[0] if suffix and "=" in text else text
            if split_host_port(where, 1) is None and not where.startswith("unix:"):
                raise ConfigError(f"Invalid port specified in -{name}: '{text}'")


def _binds(read: OptionReader) -> tuple[tuple[Endpoint, ...], tuple[Endpoint, ...]]:
    """Return where to listen, and where Tor delivers to us."""
    plain: list[Endpoint] = []
    onion: list[Endpoint] = []
    for text in read.texts("bind"):
        where, suffix, kind = text.rpartition("=")
        endpoint = parse_endpoint(where if suffix else text, 0)
        if endpoint is None or (suffix and kind != "onion"):
            raise ConfigError(f"Cannot resolve -bind address: '{text}'")
        (onion if suffix else plain).append(endpoint)
    return tuple(plain), tuple(onion)


def _whitelist(read: OptionReader) -> Whitelist:
    return Whitelist(
        ranges=tuple(map(parse_permitted_range, read.texts("whitelist"))),
        binds=tuple(map(parse_permitted_bind, read.texts("whitebind"))),
        relay=read.flag("whitelistrelay", not read.flag("blocksonly", False)),
        force_relay=read.flag("whitelistforcerelay", False),
    )
