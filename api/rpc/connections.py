"""RPC methods that open and close connections: addnode, getaddednodeinfo, disconnectnode, addconnection.

Owns: their arguments and answers. Never: connecting. What they read belongs to the network thread, which is asked.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.help import method_help
from clarion.api.rpc.parse import INT64, is_hex, parse_int
from clarion.api.rpc.registry import NODE, find, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.net.added_nodes import AddedNode
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.transport.v1 import COMMAND_SIZE

_T = ResultType


@rpc_method(
    "addnode",
    category="network",
    where=NODE,
    description="Keeps a connection to a node from now on, stops doing so, or tries once.",
    args=[
        Arg("node", ArgType.STR, "The node's address, or address and port", required=True),
        Arg("command", ArgType.STR, "'add', 'remove' or 'onetry'", required=True),
        Arg("v2transport", ArgType.BOOL, "Whether to try the encrypted transport", hint="set by -v2transport"),
    ],
    results=Result(_T.NONE),
    examples=(('"192.168.0.6:8333" "onetry" true', '"192.168.0.6:8333", "onetry" true'),),
)
def addnode(ctx: NodeContext, node: str, command: str, v2transport: bool | None) -> None:
    """Change the list of added nodes, or dial once. Raises RpcError -23, -24, -8."""
    method = find("addnode")
    if command not in ("onetry", "add", "remove"):
        assert method is not None
        raise RpcError(RpcCode.MISC_ERROR, method_help(method))
    network = ctx.network
    offered = network.context.options.v2_transport
    use_v2 = offered if v2transport is None else v2transport
    if use_v2 and not offered:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Error: v2transport requested but not enabled (see -v2transport)")
    if command == "onetry":
        network.run(network.connector.open_name(node, ConnectionType.MANUAL, use_v2=use_v2))
    elif command == "add" and not network.call(network.added_nodes.add, node, use_v2):
        raise RpcError(RpcCode.CLIENT_NODE_ALREADY_ADDED, "Error: Node already added")
    elif command == "remove" and not network.call(network.added_nodes.remove, node):
        raise RpcError(
            RpcCode.CLIENT_NODE_NOT_ADDED,
            "Error: Node could not be removed. It has not been added previously.",
        )


@rpc_method(
    "getaddednodeinfo",
    category="network",
    where=NODE,
    description="Returns the nodes that a connection is kept to.",
    args=[Arg("node", ArgType.STR, "Only this node", hint="all nodes")],
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
                    Result(_T.STR, "addednode", "the node as it was added"),
                    Result(_T.BOOL, "connected", "whether it is connected"),
                    Result(
                        _T.ARR,
                        "addresses",
                        "where it is connected",
                        (
                            Result(
                                _T.OBJ,
                                "",
                                "",
                                (
                                    Result(_T.STR, "address", "address and port"),
                                    Result(_T.STR, "connected", "inbound or outbound"),
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
    examples=(('"192.168.0.201"', '"192.168.0.201"'),),
)
def getaddednodeinfo(ctx: NodeContext, node: str | None) -> list[dict[str, Any]]:
    """Return the added nodes. Raises RpcError -24 if the one that is asked for is none."""
    network = ctx.network

    def answer() -> list[dict[str, Any]]:
        nodes = network.added_nodes.nodes
        return [_added_json(ctx, each) for each in nodes if node is None or each.name == node]

    found = network.call(answer)
    if node is not None and not found:
        raise RpcError(RpcCode.CLIENT_NODE_NOT_ADDED, "Error: Node has not been added.")
    return found


def _added_json(ctx: NodeContext, node: AddedNode) -> dict[str, Any]:
    peer = ctx.network.added_nodes.connection(node)
    addresses = []
    if peer is not None:
        direction = "inbound" if peer.is_inbound else "outbound"
        addresses.append({"address": str(peer.endpoint), "connected": direction})
    return {"addednode": node.name, "connected": peer is not None, "addresses": addresses}


@rpc_method(
    "disconnectnode",
    category="network",
    where=NODE,
    description="Leaves a peer at once. Exactly one of the arguments says which.",
    args=[
        Arg("address", ArgType.STR, "Address and port of the peer", hint="fallback to nodeid"),
        Arg("nodeid", ArgType.NUM, "Number of the peer (see getpeerinfo)", hint="fallback to address"),
    ],
    results=Result(_T.NONE),
    examples=(('"192.168.0.6:8333"', '"192.168.0.6:8333"'), ('"" 1', '"", 1')),
)
def disconnectnode(ctx: NodeContext, address: str | None, nodeid: Any) -> None:
    """Leave a peer. Raises RpcError -29 if there is none, -32602 for both or neither argument."""
    network = ctx.network
    if address is not None and nodeid is None:
        found = network.call(network.connections.leave_name, address)
    elif nodeid is not None and not address:
        found = network.call(network.connections.leave_id, parse_int(nodeid, INT64))
    else:
        raise RpcError(RpcCode.INVALID_PARAMS, "Only one of address and nodeid should be provided.")
    if not found:
        raise RpcError(RpcCode.CLIENT_NODE_NOT_CONNECTED, "Node not found in connected nodes")


_OPENED = (
    ConnectionType.OUTBOUND_FULL_RELAY,
    ConnectionType.BLOCK_RELAY,
    ConnectionType.ADDR_FETCH,
    ConnectionType.FEELER,
)


@rpc_method(
    "addconnection",
    category="hidden",
    where=NODE,
    description="Opens an outbound connection (regtest only).",
    args=[
        Arg("address", ArgType.STR, "The IP address and port", required=True),
        Arg(
            "connection_type",
            ArgType.STR,
            "'outbound-full-relay', 'block-relay-only', 'addr-fetch' or 'feeler'",
            required=True,
        ),
        Arg("v2transport", ArgType.BOOL, "Whether to try the encrypted transport", required=True),
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.STR, "address", "the address"),
            Result(_T.STR, "connection_type", "the kind of connection"),
        ),
    ),
    examples=(('"192.168.0.6:8333" "outbound-full-relay" true', '"192.168.0.6:8333", "outbound-full-relay", true'),),
)
def addconnection(ctx: NodeContext, address: str, connection_type: str, v2transport: bool) -> dict[str, str]:
    """Open a connection of a kind. Raises RpcError."""
    if ctx.params.name != "regtest":
        raise RpcError(RpcCode.MISC_ERROR, "addconnection is for regression testing (-regtest mode) only.")
    kind = next((each for each in _OPENED if each.value == connection_type.strip()), None)
    if kind is None:
        method = find("addconnection")
        assert method is not None
        raise RpcError(RpcCode.INVALID_PARAMETER, method_help(method))
    if v2transport and not ctx.network.context.options.v2_transport:
        raise RpcError(
            RpcCode.INVALID_PARAMETER,
            "Error: Adding v2transport connections requires -v2transport init flag to be set.",
        )
    if not ctx.network.run(ctx.network.add_connection(address, kind, v2transport)):
        raise RpcError(
            RpcCode.CLIENT_NODE_CAPACITY_REACHED, "Error: Already at capacity for specified connection type."
        )
    return {"address": address, "connection_type": kind.value}


@rpc_method(
    "sendmsgtopeer",
    category="hidden",
    where=NODE,
    description="Sends a message to a peer (for tests).",
    args=[
        Arg("peer_id", ArgType.NUM, "Number of the peer (see getpeerinfo)", required=True),
        Arg("msg_type", ArgType.STR, f"The message's name, at most {COMMAND_SIZE} characters", required=True),
        Arg("msg", ArgType.STR_HEX, "The message's contents, without the header", required=True),
    ],
    results=Result(_T.OBJ, "", ""),
    examples=(('0 "addr" "ffffff"', '0, "addr", "ffffff"'),),
)
def sendmsgtopeer(ctx: NodeContext, peer_id: Any, msg_type: str, msg: str) -> dict[str, Any]:
    """Send any message to a peer whose handshake is over. Raises RpcError -8, -1."""
    number = parse_int(peer_id, INT64)
    if len(msg_type) > COMMAND_SIZE:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Error: msg_type too long, max length is {COMMAND_SIZE}")
    if msg and not is_hex(msg):
        raise RpcError(RpcCode.INVALID_PARAMETER, "Error parsing input for msg")
    if not ctx.network.call(_send, ctx.network.peers, number, msg_type, bytes.fromhex(msg)):
        raise RpcError(RpcCode.MISC_ERROR, "Error: Could not send message to peer")
    return {}


def _send(peers: PeerManager, peer_id: int, command: str, payload: bytes) -> bool:
    peer = peers.peers.get(peer_id)
    if peer is None or not peer.fully_connected or peer.leaving:
        return False
    peer.send_raw(command, payload)
    return True
