"""RPC methods about remembered addresses: getnodeaddresses, getaddrmaninfo, getrawaddrman, addpeeraddress, exportasmap.

Owns: their arguments and answers. Never: which addresses are remembered.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_int
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.net.address import Endpoint, Network, parse_address, without_brackets
from clarion.node.net.address_manager.entry import AddressEntry
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.messages.addresses import TimedAddress
from clarion.node.net.network_groups import NetGroups
from clarion.node.net.protocol import ServiceFlags

NETWORKS = (Network.IPV4, Network.IPV6, Network.ONION, Network.I2P, Network.CJDNS)
"""In the order in which answers list them."""

_T = ResultType
_PORT = (0, 0xFFFF)
_NAMES = ", ".join(network.value for network in NETWORKS)


@rpc_method(
    "getnodeaddresses",
    category="network",
    where=NODE,
    description="Returns remembered addresses of other nodes, without those that look useless.",
    args=[
        Arg("count", ArgType.NUM, "Most addresses to return; 0: all", default=1),
        Arg("network", ArgType.STR, f"Only this network ({_NAMES})", hint="all networks"),
    ],
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
                    Result(_T.NUM_TIME, "time", "when the node was seen last"),
                    Result(_T.NUM, "services", "services that the node offers, as bits"),
                    Result(_T.STR, "address", "the address"),
                    Result(_T.NUM, "port", "the port"),
                    Result(_T.STR, "network", f"the network ({_NAMES})"),
                ),
            ),
        ),
    ),
    examples=(("8", "8"), ('4 "i2p"', '4, "i2p"')),
)
def getnodeaddresses(ctx: NodeContext, count: Any, network: str | None) -> list[dict[str, Any]]:
    """Return addresses in random order. Raises RpcError -8."""
    most = parse_int(count)
    if most < 0:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Address count out of range")
    only = None
    if network is not None:
        only = next((each for each in NETWORKS if each.value == network.lower()), None)
        if only is None:
            raise RpcError(RpcCode.INVALID_PARAMETER, f"Network not recognized: {network}")
    return [
        {
            "time": each.time,
            "services": each.services,
            "address": str(each.endpoint.address),
            "port": each.endpoint.port,
            "network": each.endpoint.address.network_class.value,
        }
        for each in ctx.network.call(ctx.network.addresses.relay.sample, most, 0, only)
    ]


_COUNTS = Result(
    _T.OBJ,
    "network",
    f"the network ({_NAMES}, all_networks)",
    (
        Result(_T.NUM, "new", "addresses that we were told of"),
        Result(_T.NUM, "tried", "addresses that we were connected to"),
        Result(_T.NUM, "total", "both"),
    ),
)


@rpc_method(
    "getaddrmaninfo",
    category="network",
    where=NODE,
    description="Returns how many addresses are remembered, by network.",
    results=Result(_T.OBJ_DYN, "", "", (_COUNTS,)),
)
def getaddrmaninfo(ctx: NodeContext) -> dict[str, Any]:
    """Return the counts of each network and of all."""
    return ctx.network.call(_counts_json, ctx.network.addresses.manager)


def _counts_json(addresses: AddressManager) -> dict[str, Any]:
    named: list[tuple[str, Network | None]] = [(network.value, network) for network in NETWORKS]
    return {
        name: {
            "new": addresses.size(network, is_tried=False),
            "tried": addresses.size(network, is_tried=True),
            "total": addresses.size(network),
        }
        for name, network in [*named, ("all_networks", None)]
    }


_ENTRY = Result(
    _T.OBJ,
    "bucket/position",
    "where in the table the address is",
    (
        Result(_T.STR, "address", "the address"),
        Result(_T.NUM, "mapped_as", "the address's autonomous system, by the map of -asmap", optional=True),
        Result(_T.NUM, "port", "the port"),
        Result(_T.NUM, "services", "services that the node offers, as bits"),
        Result(_T.NUM_TIME, "time", "when the node was seen last"),
        Result(_T.STR, "network", f"the network ({_NAMES})"),
        Result(_T.STR, "source", "the address of whom we know it from"),
        Result(_T.STR, "source_network", f"that address's network ({_NAMES})"),
        Result(_T.NUM, "source_mapped_as", "that address's autonomous system", optional=True),
    ),
)


@rpc_method(
    "getrawaddrman",
    category="hidden",
    where=NODE,
    description="Returns all remembered addresses with their places in the tables (for tests).",
    results=Result(_T.OBJ_DYN, "", "", (Result(_T.OBJ_DYN, "table", "the table (new, tried)", (_ENTRY,)),)),
)
def getrawaddrman(ctx: NodeContext) -> dict[str, Any]:
    """Return both tables."""
    addresses, groups = ctx.network.addresses.manager, ctx.network.context.groups

    def table(*, is_tried: bool) -> dict[str, Any]:
        return {
            f"{bucket}/{position}": _entry_json(entry, groups)
            for bucket, position, entry in addresses.places(is_tried=is_tried)
        }

    return ctx.network.call(lambda: {"new": table(is_tried=False), "tried": table(is_tried=True)})


def _entry_json(entry: AddressEntry, groups: NetGroups) -> dict[str, Any]:
    system, source_system = groups.system_of(entry.endpoint.address), groups.system_of(entry.source)
    return {
        "address": str(entry.endpoint.address),
        **({"mapped_as": system} if system else {}),
        "port": entry.endpoint.port,
        "services": entry.services,
        "time": entry.time,
        "network": entry.endpoint.address.network_class.value,
        "source": str(entry.source),
        "source_network": entry.source.network_class.value,
        **({"source_mapped_as": source_system} if source_system else {}),
    }


@rpc_method(
    "addpeeraddress",
    category="hidden",
    where=NODE,
    description="Remembers an address of another node (for tests).",
    args=[
        Arg("address", ArgType.STR, "The IP address", required=True),
        Arg("port", ArgType.NUM, "The port", required=True),
        Arg("tried", ArgType.BOOL, "Whether to act as if we had been connected to it", default=False),
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.BOOL, "success", "whether the address got a place in the table"),
            Result(_T.STR, "error", "why not", optional=True),
        ),
    ),
    examples=(('"1.2.3.4" 8333 true', '"1.2.3.4", 8333, true'),),
)
def addpeeraddress(ctx: NodeContext, address: str, port: Any, tried: bool) -> dict[str, Any]:
    """Add an address as if its node had told us of itself. Raises RpcError -30 for what is no address."""
    found = parse_address(without_brackets(address))
    endpoint_port = parse_int(port, _PORT)
    if found is None:
        raise RpcError(RpcCode.CLIENT_INVALID_IP_OR_SUBNET, "Invalid IP address")
    services = ServiceFlags.NETWORK | ServiceFlags.WITNESS
    seen = ctx.network.context.options.local_view(found)
    new = TimedAddress(ctx.clock.now(), services, Endpoint(seen, endpoint_port))
    return ctx.network.call(_add, ctx.network.addresses.manager, new, tried)


def _add(addresses: AddressManager, new: TimedAddress, tried: bool) -> dict[str, Any]:
    if not addresses.add([new], new.endpoint.address):
        return {"error": "failed-adding-to-new", "success": False}
    if tried and not addresses.good(new.endpoint):
        return {"error": "failed-adding-to-tried", "success": False}
    return {"success": True}


@rpc_method(
    "exportasmap",
    category="network",
    where=NODE,
    description="Writes the built-in map of autonomous systems to a file. Clarion has none built in (see -asmap).",
    args=[Arg("path", ArgType.STR, "The file", required=True)],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.STR, "path", "where the map was written to"),
            Result(_T.NUM, "bytes_written", "its size"),
            Result(_T.STR_HEX, "file_hash", "its SHA-256 hash"),
        ),
    ),
)
def exportasmap(ctx: NodeContext, path: str) -> dict[str, Any]:
    """Raise RpcError as the reference's builds without such a map do."""
    raise RpcError(RpcCode.MISC_ERROR, "No embedded ASMap data available")
