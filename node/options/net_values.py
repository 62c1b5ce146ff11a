"""The values of the network's options.

Owns: how they act on each other. Never: what the network does with them.
"""

from collections.abc import Sequence

from clarion.node.net.options import NetOptions
from clarion.node.net.permissions import Permission, parse_whitelist
from clarion.node.net.user_agent import user_agent
from clarion.node.options.reader import OptionReader
from clarion.node.options.settings import Value
from clarion.node.options.values import check_port


def read_net_options(ua_comments: Sequence[str], read: OptionReader) -> NetOptions:
    """Return what was said about the network; `ua_comments` become part of the user agent. Raises ConfigError."""
    connect = _connect(read)
    bind = read.texts("bind")
    listen = read.flag("listen", bool(bind) or (connect is None and not read.texts("proxy")))
    port: Value | None = read.settings.get("port")
    return NetOptions(
        listen=listen,
        port=None if port is None else check_port("port", read.text("port")),
        bind=bind,
        connect=connect,
        add_node=read.texts("addnode"),
        max_connections=max(0, read.number("maxconnections", 125)),
        network_active=read.flag("networkactive", True),
        v2_transport=read.flag("v2transport", True),
        timeout_ms=read.number("timeout", 5_000) if read.number("timeout", 5_000) > 0 else 5_000,
        peer_timeout_s=read.number("peertimeout", 60, 1),
        blocks_only=read.flag("blocksonly", False),
        whitelist=tuple(map(parse_whitelist, read.texts("whitelist"))),
        implied_permissions=_implied_permissions(read),
        max_send_buffer=1_000 * read.number("maxsendbuffer", 1_000),
        max_receive_buffer=1_000 * read.number("maxreceivebuffer", 5_000),
        log_ips=read.flag("logips", False),
        subversion=user_agent(ua_comments),
    )


def _connect(read: OptionReader) -> tuple[str, ...] | None:
    """Return the only nodes to connect to; `-noconnect` and `-connect=0` are nobody."""
    if read.settings.get("connect") is None:
        return None
    names = read.texts("connect")
    return () if names in ((), ("0",)) else names


def _implied_permissions(read: OptionReader) -> Permission:
    """Return what whitelisted peers may do for whom no permission is named."""
    permissions = Permission.NO_BAN | Permission.MEMPOOL
    if read.flag("whitelistforcerelay", False):
        permissions |= Permission.FORCE_RELAY
    if read.flag("whitelistrelay", not read.flag("blocksonly", False)):
        permissions |= Permission.RELAY
    return permissions
