"""Opening a connection: who we are, who they are, what both can do.

Owns: version, verack and what stands between them; pings. Never: sockets, sync, relay.
Source: Bitcoin Core's net_processing.cpp; BIP14, 31, 35, 60, 130, 155, 339.
"""

import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from clarion.node.net.activity import TIMEOUT_INTERVAL_S
from clarion.node.net.address import NO_ENDPOINT
from clarion.node.net.clock import MINUTE_US, SECOND_US
from clarion.node.net.context import NetContext
from clarion.node.net.messages.handshake import Ping, Pong, SendCmpct, Version
from clarion.node.net.messages.message import SendAddrV2, Verack, WtxidRelay
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import (
    BIP0031_VERSION,
    CMPCTBLOCKS_VERSION,
    MIN_PEER_PROTO_VERSION,
    PROTOCOL_VERSION,
    SHORT_IDS_BLOCKS_VERSION,
    WTXID_RELAY_VERSION,
    ServiceFlags,
)
from clarion.node.net.reader import Reader
from clarion.node.net.text import sanitize
from clarion.node.net.time_offsets import TimeOffsets

LAST_ALERT_VERSION = 70012
FINAL_ALERT = bytes.fromhex(
    "60010000000000000000000000ffffff7f00000000ffffff7ffeffff7f01ffffff7f00000000ffffff7f00ffffff7f002f555247454e54"
    "3a20416c657274206b657920636f6d70726f6d697365642c2075706772616465207265717569726564004630440220653febd6410f470f"
    "6bae11cad19c48413becb1ac2c17f908fd0fd53bdc3abd5202206d0e9c96fe88d4a0f01ed9dedae2b6f9e00da94cad0fecaae66ecf689b"
    "f71b50"
)
"""Tells old nodes, once and for all, that the key of their alerts is known to everybody."""
PING_INTERVAL_US = 2 * MINUTE_US
RECENT_BLOCKS_S = 144 * 10 * 60
"""How far behind we may be and still be content with a peer that has only the last blocks."""

logger = logging.getLogger("clarion.net")


@dataclass(slots=True)
class PingState:
    """Pings to one peer, in microseconds. `nonce` is 0 while none is open."""

    nonce: int = 0
    started_us: int = 0
    queued: bool = False
    last_us: int = 0
    shortest_us: int | None = None


class Handshake:
    """Greets peers and keeps asking whether they are there."""

    def __init__(self, context: NetContext, peers: PeerManager) -> None:
        self._context = context
        self._peers = peers
        self.time_offsets = TimeOffsets()
        self.on_services: list[Callable[[Peer, int], None]] = []
        """Called with what a peer that we connected to says that it offers, before we judge it."""
        self.on_version: list[Callable[[Peer], None]] = []
        """Called when a peer has told its version and been told ours."""
        peers.on_connected.append(self._greet)
        peers.ticks.append(self._tick)
        peers.register("version", self._version)
        peers.register("verack", self._verack)
        peers.register("wtxidrelay", self._wtxid_relay)
        peers.register("sendaddrv2", self._send_addr_v2)
        peers.register("ping", self._ping)
        peers.register("pong", self._pong)

    # --- version ----------------------------------------------------------------------------------------------------

    def desirable_services(self, services: int) -> int:
        """Return what a peer must offer: the whole chain, or the last blocks if it has those and we are nearly there."""
        tip = self._context.chain.manager.tip
        near = tip.time > self._context.clock.now() - RECENT_BLOCKS_S
        if services & ServiceFlags.NETWORK_LIMITED and near and not self._context.chain.manager.initial_download:
            return ServiceFlags.NETWORK_LIMITED | ServiceFlags.WITNESS
        return ServiceFlags.NETWORK | ServiceFlags.WITNESS

    def has_wanted_services(self, services: int) -> bool:
        """Whether a peer with these services offers what we want."""
        return not self.desirable_services(services) & ~services

    def rejects_transactions(self, peer: Peer) -> bool:
        """Whether we take no transactions from the peer."""

        if peer.is_block_only or peer.connection_type is ConnectionType.FEELER:
            return True
        return self._context.options.blocks_only and not peer.may(Permission.RELAY)

    def _greet(self, peer: Peer) -> None:
        peer.local_nonce = secrets.randbits(64)
        peer.state(PingState).started_us = 0
        if not peer.is_inbound:
            self._send_version(peer)

    def _send_version(self, peer: Peer) -> None:
        address = peer.endpoint.address
        known = address.is_routable and address.is_v1_compatible
        height = self._context.chain.manager.tip.height
        relay = not self.rejects_transactions(peer)
        peer.send(
            Version(
                PROTOCOL_VERSION,
                peer.our_services,
                self._context.clock.now(),
                peer.services,
                peer.endpoint if known else NO_ENDPOINT,
                peer.our_services,
                NO_ENDPOINT,
                peer.local_nonce,
                self._context.options.subversion,
                height,
                relay,
            )
        )
        logger.debug(
            "send version message: version=%d, blocks=%d, txrelay=%d, peer=%d", PROTOCOL_VERSION, height, relay, peer.id
        )

    async def _version(self, peer: Peer, payload: bytes) -> None:
        if peer.version:
            logger.debug("redundant version message from peer=%d", peer.id)
            return
        version = Version.parse(payload)
        services = version.services
        if not peer.is_inbound:
            for note in self.on_services:
                note(peer, services)
        wanted = self.desirable_services(services)
        if peer.expects_services and wanted & ~services:
            peer.disconnect(
                f"peer does not offer the expected services ({services:08x} offered, {wanted:08x} expected)"
            )
            return
        if version.version < MIN_PEER_PROTO_VERSION:
            peer.disconnect(f"peer using obsolete version {version.version}")
            return
        if peer.is_inbound and self._is_own_nonce(version.nonce):
            logger.info("connected to self at %s, disconnecting", peer.endpoint)
            peer.disconnect()
            return
        if peer.is_inbound:
            self._send_version(peer)
        self._note(peer, version)
        if peer.common_version >= WTXID_RELAY_VERSION:
            peer.send(WtxidRelay())
            # A courtesy: older software may refuse messages that it does not know.
            peer.send(SendAddrV2())
        peer.send(Verack())
        for hook in self.on_version:
            hook(peer)
        if peer.common_version <= LAST_ALERT_VERSION:
            peer.send_raw("alert", FINAL_ALERT)
        if peer.connection_type is ConnectionType.FEELER:
            peer.disconnect("feeler connection completed")

    def _note(self, peer: Peer, version: Version) -> None:
        peer.common_version = min(version.version, PROTOCOL_VERSION)
        peer.version = version.version
        peer.services = version.services
        peer.has_wanted_services = self.has_wanted_services(version.services)
        peer.seen_as = version.receiver
        peer.subversion = sanitize(version.subversion)
        peer.start_height = version.start_height
        takes_txs = not peer.is_block_only and peer.connection_type is not ConnectionType.FEELER
        peer.relays_txs = version.relay and takes_txs
        peer.time_offset = max(version.time, 0) - self._context.clock.now()
        if not peer.is_inbound:
            self._note_time(peer.time_offset)
        logger.debug(
            "receive version message: %s: version %d, blocks=%d, us=%s, txrelay=%d, %s",
            peer.subversion or "<no user agent>",
            peer.version,
            peer.start_height,
            version.receiver,
            version.relay,
            peer.log_name,
        )

    def _note_time(self, offset_s: int) -> None:
        # Inbound peers don't count: anybody can make as many of them as it likes.
        self.time_offsets.add(offset_s)
        warning = self.time_offsets.warning
        if warning:
            logger.warning("%s", warning)

    def _is_own_nonce(self, nonce: int) -> bool:
        return any(
            not peer.is_inbound and not peer.fully_connected and peer.local_nonce == nonce
            for peer in self._peers.peers.values()
        )

    async def _verack(self, peer: Peer, payload: bytes) -> None:
        if peer.fully_connected:
            logger.debug("ignoring redundant verack message from peer=%d", peer.id)
            return
        logger.log(
            logging.DEBUG if peer.is_inbound else logging.INFO,
            "New %s peer connected: transport: %s, version: %d, %s",
            peer.connection_type.value,
            peer.transport.transport_type,
            peer.version,
            peer.log_name,
        )
        if peer.common_version >= SHORT_IDS_BLOCKS_VERSION:
            peer.send(SendCmpct(False, CMPCTBLOCKS_VERSION))
        self._peers.ready(peer)

    async def _wtxid_relay(self, peer: Peer, payload: bytes) -> None:
        if peer.fully_connected:
            peer.disconnect("wtxidrelay received after verack")
        elif peer.common_version < WTXID_RELAY_VERSION:
            logger.debug("ignoring wtxidrelay due to old common version=%d from peer=%d", peer.common_version, peer.id)
        elif peer.wtxid_relay:
            logger.debug("ignoring duplicate wtxidrelay from peer=%d", peer.id)
        else:
            peer.wtxid_relay = True

    async def _send_addr_v2(self, peer: Peer, payload: bytes) -> None:
        if peer.fully_connected:
            peer.disconnect("sendaddrv2 received after verack")
        else:
            peer.wants_addrv2 = True

    # --- pings ------------------------------------------------------------------------------------------------------

    async def _ping(self, peer: Peer, payload: bytes) -> None:
        if peer.common_version > BIP0031_VERSION:
            peer.send(Pong(Reader(payload).unsigned(8)))

    async def _pong(self, peer: Peer, payload: bytes) -> None:
        ping = peer.state(PingState)
        problem = ""
        finished = False
        if len(payload) < 8:
            problem, finished, nonce = "Short payload", True, 0
        else:
            nonce = Reader(payload).unsigned(8)
            if not ping.nonce:
                problem = "Unsolicited pong without ping"
            elif nonce == ping.nonce:
                finished = True
                taken = self._context.clock.now_us() - ping.started_us
                if taken >= 0:
                    ping.last_us = taken
                    ping.shortest_us = taken if ping.shortest_us is None else min(ping.shortest_us, taken)
                else:
                    problem = "Timing mishap"
            else:
                problem = "Nonce mismatch"
                # A pong with nonce 0 comes from software that does not know what a nonce is.
                if nonce == 0:
                    finished, problem = True, "Nonce zero"
        if problem:
            logger.debug(
                "pong peer=%d: %s, %x expected, %x received, %d bytes",
                peer.id,
                problem,
                ping.nonce,
                nonce,
                len(payload),
            )
        if finished:
            ping.nonce = 0

    def request_ping(self, peer: Peer) -> None:
        """Send a ping with the next tick."""
        peer.state(PingState).queued = True

    def _tick(self, peer: Peer, now_us: int) -> None:
        ping = peer.state(PingState)
        timeout_us = self._context.options.peer_timeout_s * SECOND_US
        checked = peer.connected_us + timeout_us < now_us
        if checked and ping.nonce and now_us > ping.started_us + TIMEOUT_INTERVAL_S * SECOND_US:
            peer.disconnect(f"ping timeout: {(now_us - ping.started_us) / SECOND_US:f}s")
            return
        if not ping.queued and (ping.nonce or now_us <= ping.started_us + PING_INTERVAL_US):
            return
        ping.queued = False
        ping.started_us = now_us
        if peer.common_version > BIP0031_VERSION:
            ping.nonce = secrets.randbits(64) or 1
            peer.send(Ping(ping.nonce))
        else:
            ping.nonce = 0
            peer.send(Ping())
