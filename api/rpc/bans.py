"""RPC methods about bans: setban, listbanned, clearbanned.

Owns: their arguments and answers. Never: keeping the list.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.help import method_help
from clarion.api.rpc.parse import INT64, parse_int
from clarion.api.rpc.registry import NODE, find, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.net.bans import range_of
from clarion.node.net.service import NetService
from clarion.node.net.subnet import Subnet, subnet_of

_T = ResultType


@rpc_method(
    "setban",
    category="network",
    where=NODE,
    description="Bans an address or a range of addresses, or lifts the ban.",
    args=[
        Arg("subnet", ArgType.STR, "Address, or range with its netmask or number of bits", required=True),
        Arg("command", ArgType.STR, "'add' or 'remove'", required=True),
        Arg("bantime", ArgType.NUM, "Seconds that the ban lasts; 0: as -bantime says", default=0),
        Arg("absolute", ArgType.BOOL, "Whether bantime is the Unix time of the ban's end", default=False),
    ],
    results=Result(_T.NONE),
    examples=(
        ('"192.168.0.6" "add" 86400', '"192.168.0.6", "add", 86400'),
        ('"192.168.0.0/24" "add"', '"192.168.0.0/24", "add"'),
    ),
)
def setban(ctx: NodeContext, subnet: str, command: str, bantime: Any, absolute: bool) -> None:
    """Change the list of bans; peers of a new one are left. Raises RpcError -30, -23, -8."""
    if command not in ("add", "remove"):
        method = find("setban")
        assert method is not None
        raise RpcError(RpcCode.MISC_ERROR, method_help(method))
    banned = range_of(subnet)
    if banned is None:
        raise RpcError(RpcCode.CLIENT_INVALID_IP_OR_SUBNET, "Error: Invalid IP/Subnet")
    network = ctx.network
    if "/" not in subnet:
        banned = subnet_of(network.context.options.local_view(banned.network))
    if command == "add":
        seconds = parse_int(bantime, INT64)
        network.call(_add, network, banned, "/" in subnet, seconds, absolute)
    elif not network.call(network.bans.unban, banned):
        raise RpcError(
            RpcCode.CLIENT_INVALID_IP_OR_SUBNET,
            "Error: Unban failed. Requested address/subnet was not previously manually banned.",
        )


def _add(network: NetService, banned: Subnet, is_range: bool, seconds: int, absolute: bool) -> None:
    bans = network.bans
    if bans.is_range_banned(banned) if is_range else bans.is_banned(banned.network):
        raise RpcError(RpcCode.CLIENT_NODE_ALREADY_ADDED, "Error: IP/Subnet already banned")
    if absolute and seconds < network.context.clock.now():
        raise RpcError(RpcCode.INVALID_PARAMETER, "Error: Absolute timestamp is in the past")
    bans.ban(banned, seconds, absolute=absolute)
    network.connections.leave_range(banned)


@rpc_method(
    "listbanned",
    category="network",
    where=NODE,
    description="Returns the banned addresses and ranges.",
    results=Result(
        _T.ARR,
        "",
        "",
        (
            Result(
                _T.OBJ,
                "",
                "",
                (
                    Result(_T.STR, "address", "the banned address or range"),
                    Result(_T.NUM_TIME, "ban_created", "when the ban was made"),
                    Result(_T.NUM_TIME, "banned_until", "when the ban ends"),
                    Result(_T.NUM_TIME, "ban_duration", "seconds that the ban lasts"),
                    Result(_T.NUM_TIME, "time_remaining", "seconds until the ban ends"),
                ),
            ),
        ),
    ),
)
def listbanned(ctx: NodeContext) -> list[dict[str, Any]]:
    """Return the bans in the order of their ranges."""
    now = ctx.clock.now()
    return [
        {
            "address": str(subnet),
            "ban_created": ban.created,
            "banned_until": ban.until,
            "ban_duration": ban.until - ban.created,
            "time_remaining": ban.until - now,
        }
        for subnet, ban in ctx.network.call(ctx.network.bans.entries)
    ]


@rpc_method(
    "clearbanned",
    category="network",
    where=NODE,
    description="Lifts all bans.",
    results=Result(_T.NONE),
)
def clearbanned(ctx: NodeContext) -> None:
    """Empty the list of bans."""
    ctx.network.call(ctx.network.bans.clear)
