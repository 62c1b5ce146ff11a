"""RPC methods about the network: what a node without peers says of itself.

Owns: their answers. Never: connections.
"""

from collections.abc import Sequence
from typing import Any

from clarion import __version__
from clarion.api.render.numbers import amount_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Result, ResultType

CORE_VERSION = 310000
"""Version of Bitcoin Core that the answers are compatible with; clients switch features by this number."""
PROTOCOL_VERSION = 70016
MIN_RELAY_FEE_SAT_PER_KVB = 100
INCREMENTAL_RELAY_FEE_SAT_PER_KVB = 100

_SERVICES = ((1 << 0, "NETWORK"), (1 << 3, "WITNESS"))
_NETWORKS = ("ipv4", "ipv6", "onion", "i2p", "cjdns")
_REACHABLE = ("ipv4", "ipv6")


def subversion(comments: Sequence[str] = ()) -> str:
    """Return the user agent (BIP14); clients parse the version between the colon and the bracket."""
    inner = "; ".join([f"Clarion:{__version__}", *comments])
    return f"/Satoshi:31.0.0({inner})/"


def _networks() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "limited": name not in _REACHABLE,
            "reachable": name in _REACHABLE,
            "proxy": "",
            "proxy_randomize_credentials": False,
        }
        for name in _NETWORKS
    ]


_NETWORK_RESULT = Result(
    ResultType.OBJ,
    "",
    "",
    (
        Result(ResultType.STR, "name", f"network ({', '.join(_NETWORKS)})"),
        Result(ResultType.BOOL, "limited", "whether -onlynet leaves it out"),
        Result(ResultType.BOOL, "reachable", "whether it can be reached"),
        Result(ResultType.STR, "proxy", "proxy as host:port, empty without one"),
        Result(ResultType.BOOL, "proxy_randomize_credentials", "whether each connection has credentials of its own"),
    ),
)

_ADDRESS_RESULT = Result(
    ResultType.OBJ,
    "",
    "",
    (
        Result(ResultType.STR, "address", "network address"),
        Result(ResultType.NUM, "port", "network port"),
        Result(ResultType.NUM, "score", "relative score"),
    ),
)


@rpc_method(
    "getnetworkinfo",
    category="network",
    where=NODE,
    description="Returns what the node says of itself on the network.",
    results=Result(
        ResultType.OBJ,
        "",
        "",
        (
            Result(ResultType.NUM, "version", "version of Bitcoin Core that the answers are compatible with"),
            Result(ResultType.STR, "subversion", "the user agent"),
            Result(ResultType.NUM, "protocolversion", "the protocol version"),
            Result(ResultType.STR_HEX, "localservices", "services that are offered, as bits"),
            Result(ResultType.ARR, "localservicesnames", "the same by name", (Result(ResultType.STR),)),
            Result(ResultType.BOOL, "localrelay", "whether peers are asked for transactions"),
            Result(ResultType.NUM, "timeoffset", "median offset of the peers' clocks in seconds"),
            Result(ResultType.BOOL, "networkactive", "whether there is networking at all"),
            Result(ResultType.NUM, "connections", "connections"),
            Result(ResultType.NUM, "connections_in", "inbound connections"),
            Result(ResultType.NUM, "connections_out", "outbound connections"),
            Result(ResultType.ARR, "networks", "each network", (_NETWORK_RESULT,)),
            Result(ResultType.STR_AMOUNT, "relayfee", "lowest fee rate of relayed transactions in BTC/kvB"),
            Result(ResultType.STR_AMOUNT, "incrementalfee", "lowest rise of the fee rate for a replacement in BTC/kvB"),
            Result(ResultType.ARR, "localaddresses", "own addresses", (_ADDRESS_RESULT,)),
            Result(ResultType.ARR, "warnings", "warnings about network and chain", (Result(ResultType.STR),)),
        ),
    ),
)
def getnetworkinfo(ctx: NodeContext) -> dict[str, Any]:
    """Return the node's view of the network."""
    services = sum(bit for bit, _ in _SERVICES)
    return {
        "version": CORE_VERSION,
        "subversion": subversion(ctx.config.ua_comments),
        "protocolversion": PROTOCOL_VERSION,
        "localservices": f"{services:016x}",
        "localservicesnames": [name for _, name in _SERVICES],
        "localrelay": True,
        "timeoffset": 0,
        "networkactive": True,
        "connections": connection_count(ctx),
        "connections_in": 0,
        "connections_out": 0,
        "networks": _networks(),
        "relayfee": amount_json(MIN_RELAY_FEE_SAT_PER_KVB),
        "incrementalfee": amount_json(INCREMENTAL_RELAY_FEE_SAT_PER_KVB),
        "localaddresses": [],
        "warnings": ctx.warnings_json(),
    }


@rpc_method(
    "getconnectioncount",
    category="network",
    where=NODE,
    description="Returns the number of connections to other nodes.",
    results=Result(ResultType.NUM, "", "The connection count"),
)
def getconnectioncount(ctx: NodeContext) -> int:
    """Return the number of connections."""
    return connection_count(ctx)


def connection_count(ctx: NodeContext) -> int:
    """Return the number of connections to other nodes; without networking there are none."""
    return 0


@rpc_method(
    "getpeerinfo",
    category="network",
    where=NODE,
    description="Returns what is known of each connected peer.",
    results=Result(ResultType.ARR, "", "", (Result(ResultType.OBJ, "", "one peer"),)),
)
def getpeerinfo(ctx: NodeContext) -> list[dict[str, Any]]:
    """Return the connected peers."""
    return []
