"""RPC methods about the peers that there are: getpeerinfo and ping.

Owns: their answers. Never: connecting. What they read belongs to the network thread, which is asked.
"""

from collections.abc import Mapping
from typing import Any

from clarion.api.render.numbers import amount_json, number_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Result, ResultType
from clarion.node.net.address_relay import AddressState
from clarion.node.net.clock import SECOND_US
from clarion.node.net.handshake import PingState
from clarion.node.net.peer import Peer
from clarion.node.net.permissions import permission_names
from clarion.node.net.protocol import service_names
from clarion.node.net.relay.state import RelayState
from clarion.node.net.sync.state import SyncState, presync_height

_T = ResultType

_BYTES_PER_MESSAGE = (Result(_T.NUM, "msg", "bytes of this kind of message"),)

_PEER = Result(
    _T.OBJ,
    "",
    "",
    (
        Result(_T.NUM, "id", "number of the peer"),
        Result(_T.STR, "addr", "address and port"),
        Result(_T.STR, "addrbind", "our end of the connection", optional=True),
        Result(_T.STR, "addrlocal", "our address as the peer sees it", optional=True),
        Result(_T.STR, "network", "the network (ipv4, ipv6, onion, i2p, cjdns, not_publicly_routable)"),
        Result(_T.NUM, "mapped_as", "the autonomous system of the address, by the map of -asmap", optional=True),
        Result(_T.STR_HEX, "services", "services that the peer offers, as bits"),
        Result(_T.ARR, "servicesnames", "the same by name", (Result(_T.STR, "SERVICE_NAME", "a service"),)),
        Result(_T.BOOL, "relaytxes", "whether the peer wants transactions"),
        Result(_T.NUM, "last_inv_sequence", "mempool sequence of the last announcement to this peer"),
        Result(_T.NUM, "inv_to_send", "transactions that wait to be announced to this peer"),
        Result(_T.NUM_TIME, "lastsend", "when something was sent last"),
        Result(_T.NUM_TIME, "lastrecv", "when something was received last"),
        Result(_T.NUM_TIME, "last_transaction", "when a valid transaction was received last"),
        Result(_T.NUM_TIME, "last_block", "when a block was received last"),
        Result(_T.NUM, "bytessent", "bytes sent"),
        Result(_T.NUM, "bytesrecv", "bytes received"),
        Result(_T.NUM_TIME, "conntime", "when the connection was made"),
        Result(_T.NUM, "timeoffset", "seconds that the peer's clock is ahead"),
        Result(_T.NUM, "pingtime", "seconds that the last ping took", optional=True),
        Result(_T.NUM, "minping", "seconds that the shortest ping took", optional=True),
        Result(_T.NUM, "pingwait", "seconds since the ping that is not answered yet", optional=True),
        Result(_T.NUM, "version", "the peer's protocol version"),
        Result(_T.STR, "subver", "the peer's user agent"),
        Result(_T.BOOL, "inbound", "whether the peer connected to us"),
        Result(_T.BOOL, "bip152_hb_to", "whether we want compact blocks from it unasked"),
        Result(_T.BOOL, "bip152_hb_from", "whether it wants compact blocks from us unasked"),
        Result(_T.NUM, "presynced_headers", "height of the headers that are looked at first, -1 for none"),
        Result(_T.NUM, "synced_headers", "height of the last header that we have in common"),
        Result(_T.NUM, "synced_blocks", "height of the last block that we have in common"),
        Result(_T.ARR, "inflight", "blocks that are being fetched", (Result(_T.NUM, "n", "height of a block"),)),
        Result(_T.BOOL, "addr_relay_enabled", "whether addresses are exchanged"),
        Result(_T.NUM, "addr_processed", "addresses that were taken from it"),
        Result(_T.NUM, "addr_rate_limited", "addresses that were too many"),
        Result(_T.ARR, "permissions", "what the peer may do", (Result(_T.STR, "permission_type", "a permission"),)),
        Result(_T.NUM, "minfeefilter", "lowest fee rate that the peer wants to hear of in BTC/kvB"),
        Result(_T.OBJ_DYN, "bytessent_per_msg", "bytes sent by message", _BYTES_PER_MESSAGE),
        Result(_T.OBJ_DYN, "bytesrecv_per_msg", "bytes received by message", _BYTES_PER_MESSAGE),
        Result(_T.STR, "connection_type", "why the connection is there"),
        Result(_T.STR, "transport_protocol_type", "the transport (detecting, v1, v2)"),
        Result(_T.STR, "session_id", "session id of an encrypted connection, else empty"),
    ),
)


@rpc_method(
    "getpeerinfo",
    category="network",
    where=NODE,
    description="Returns what is known of each connected peer.",
    results=Result(_T.ARR, "", "", (_PEER,)),
)
def getpeerinfo(ctx: NodeContext) -> list[dict[str, Any]]:
    """Return the connected peers in the order in which they connected."""
    return ctx.network.call(lambda: [peer_json(ctx, peer) for peer in ctx.network.peers.peers.values()])


def peer_json(ctx: NodeContext, peer: Peer) -> dict[str, Any]:
    """Return a peer as getpeerinfo shows it. Runs on the network thread."""
    answer: dict[str, Any] = {"id": peer.id, "addr": peer.name}
    if peer.bound_to is not None:
        answer["addrbind"] = str(peer.bound_to)
    if peer.seen_as is not None and peer.seen_as.address.is_valid:
        answer["addrlocal"] = str(peer.seen_as)
    answer["network"] = peer.network.value
    system = ctx.network.context.groups.system_of(peer.endpoint.address)
    if system:
        answer["mapped_as"] = system
    answer |= {
        "services": f"{peer.services:016x}",
        "servicesnames": service_names(peer.services),
    }
    answer |= _relay_json(peer)
    answer |= {
        "lastsend": peer.last_send,
        "lastrecv": peer.last_receive,
        "last_transaction": peer.last_transaction,
        "last_block": peer.last_block,
        "bytessent": peer.total_sent,
        "bytesrecv": peer.total_received,
        "conntime": peer.connected_us // SECOND_US,
        "timeoffset": peer.time_offset,
    }
    answer |= _ping_json(peer, ctx.network.context.clock.now_us())
    answer |= {"version": peer.version, "subver": peer.subversion, "inbound": peer.is_inbound}
    answer |= _sync_json(peer)
    answer |= {
        "permissions": permission_names(peer.permissions),
        "minfeefilter": amount_json(peer.state(RelayState).min_feerate_sat),
        "bytessent_per_msg": _counts(peer.bytes_sent),
        "bytesrecv_per_msg": _counts(peer.bytes_received),
        "connection_type": peer.connection_type.value,
        "transport_protocol_type": peer.transport.transport_type,
        "session_id": peer.transport.session_id,
    }
    return answer


def _relay_json(peer: Peer) -> dict[str, Any]:
    state = peer.state(RelayState) if peer.relays_txs else None
    return {
        "relaytxes": peer.relays_txs,
        "last_inv_sequence": state.last_inv_sequence if state else 0,
        "inv_to_send": len(state.to_send) if state else 0,
    }


def _sync_json(peer: Peer) -> dict[str, Any]:
    state, addresses = peer.state(SyncState), peer.state(AddressState)
    return {
        "bip152_hb_to": state.sends_compact,
        "bip152_hb_from": state.wants_compact,
        "presynced_headers": presync_height(state),
        "synced_headers": -1 if state.best_known is None else state.best_known.height,
        "synced_blocks": -1 if state.last_common is None else state.last_common.height,
        "inflight": [entry.height for entry in state.in_flight.values()],
        "addr_relay_enabled": addresses.known is not None,
        "addr_processed": addresses.processed,
        "addr_rate_limited": addresses.limited,
    }


def _ping_json(peer: Peer, now_us: int) -> dict[str, Any]:
    ping = peer.state(PingState)
    answer: dict[str, Any] = {}
    if ping.last_us > 0:
        answer["pingtime"] = number_json(ping.last_us / SECOND_US)
    if ping.shortest_us is not None:
        answer["minping"] = number_json(ping.shortest_us / SECOND_US)
    if ping.nonce and now_us > ping.started_us:
        answer["pingwait"] = number_json((now_us - ping.started_us) / SECOND_US)
    return answer


def _counts(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if count}


@rpc_method(
    "ping",
    category="network",
    where=NODE,
    description="Has a ping sent to every peer; getpeerinfo tells how long the answers take.",
    results=Result(_T.NONE),
)
def ping(ctx: NodeContext) -> None:
    """Queue a ping for each peer."""

    def request() -> None:
        for peer in ctx.network.peers.peers.values():
            ctx.network.handshake.request_ping(peer)

    ctx.network.call(request)
