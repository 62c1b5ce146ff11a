"""RPC methods about the network: what a node without peers says of itself.

Owns: their answers. Never: connections.
"""

import time
from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.api.rpc.addresses import NETWORKS
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.net.local_addresses import LocalAddresses
from clarion.node.net.options import NetOptions
from clarion.node.net.protocol import PROTOCOL_VERSION, service_names
from clarion.node.net.traffic import TIMEFRAME_S, Traffic
from clarion.node.net.user_agent import CORE_VERSION


def _networks(options: NetOptions) -> list[dict[str, Any]]:
    answer = []
    for network in NETWORKS:
        proxy = options.proxies.by_network.get(network)
        reachable = network in options.reachable
        answer.append(
            {
                "name": network.value,
                "limited": not reachable,
                "reachable": reachable,
                "proxy": "" if proxy is None else str(proxy),
                "proxy_randomize_credentials": proxy is not None and proxy.isolates,
            }
        )
    return answer


_NETWORK_RESULT = Result(
    ResultType.OBJ,
    "",
    "",
    (
        Result(ResultType.STR, "name", f"network ({', '.join(network.value for network in NETWORKS)})"),
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
    network = ctx.network
    services = network.context.local_services
    peers = network.call(lambda: list(network.peers.peers.values()))
    inbound = sum(peer.is_inbound for peer in peers)
    fees = ctx.mempool.options
    return {
        "version": CORE_VERSION,
        "subversion": ctx.config.net.subversion,
        "protocolversion": PROTOCOL_VERSION,
        "localservices": f"{services:016x}",
        "localservicesnames": service_names(services),
        "localrelay": not network.context.options.blocks_only,
        "timeoffset": network.handshake.time_offsets.median_s,
        "networkactive": network.connections.active,
        "connections": len(peers),
        "connections_in": inbound,
        "connections_out": len(peers) - inbound,
        "networks": _networks(network.context.options),
        "relayfee": amount_json(fees.min_relay_feerate.sat_per_kvb),
        "incrementalfee": amount_json(fees.incremental_relay_feerate.sat_per_kvb),
        "localaddresses": network.call(_own_json, network.addresses.own),
        "warnings": ctx.warnings_json(),
    }


def _own_json(own: LocalAddresses) -> list[dict[str, Any]]:
    return [{"address": str(address), "port": known.port, "score": known.score} for address, known in own.entries()]


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
    """Return the number of connections to other nodes."""
    return len(ctx.network.peers.peers)


@rpc_method(
    "setnetworkactive",
    category="network",
    where=NODE,
    description="Leaves the network or takes part in it again.",
    args=[Arg("state", ArgType.BOOL, "Whether to take part", required=True)],
    results=Result(ResultType.BOOL, "", "The value that was passed in"),
)
def setnetworkactive(ctx: NodeContext, state: bool) -> bool:
    """Leave all peers and connect to none, or connect again."""
    ctx.network.call(ctx.network.connections.set_active, state)
    return state


@rpc_method(
    "getnettotals",
    category="network",
    where=NODE,
    description="Returns how much has passed all connections, and what -maxuploadtarget leaves.",
    results=Result(
        ResultType.OBJ,
        "",
        "",
        (
            Result(ResultType.NUM, "totalbytesrecv", "bytes received"),
            Result(ResultType.NUM, "totalbytessent", "bytes sent"),
            Result(ResultType.NUM_TIME, "timemillis", "the time in milliseconds"),
            Result(
                ResultType.OBJ,
                "uploadtarget",
                "",
                (
                    Result(ResultType.NUM, "timeframe", "seconds that the target is for"),
                    Result(ResultType.NUM, "target", "bytes that may be sent in that time, 0 for any number"),
                    Result(ResultType.BOOL, "target_reached", "whether as much has been sent"),
                    Result(ResultType.BOOL, "serve_historical_blocks", "whether old blocks are sent"),
                    Result(ResultType.NUM, "bytes_left_in_cycle", "bytes that may still be sent"),
                    Result(ResultType.NUM, "time_left_in_cycle", "seconds until counting begins anew"),
                ),
            ),
        ),
    ),
)
def getnettotals(ctx: NodeContext) -> dict[str, Any]:
    """Return the totals of this run."""
    return ctx.network.call(_totals_json, ctx.network.context.traffic)


def _totals_json(traffic: Traffic) -> dict[str, Any]:
    return {
        "totalbytesrecv": traffic.received,
        "totalbytessent": traffic.sent,
        "timemillis": time.time_ns() // 1_000_000,
        "uploadtarget": {
            "timeframe": TIMEFRAME_S,
            "target": traffic.limit,
            "target_reached": traffic.is_exhausted,
            "serve_historical_blocks": traffic.serves_old_blocks,
            "bytes_left_in_cycle": traffic.bytes_left,
            "time_left_in_cycle": traffic.time_left_s,
        },
    }
