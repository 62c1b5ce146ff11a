"""The handshake and the pings, without sockets."""

import pytest

from clarion.node.net.clock import MINUTE_US, SECOND_US
from clarion.node.net.handshake import PingState
from clarion.node.net.messages.handshake import Ping, Pong, SendCmpct, Version
from clarion.node.net.messages.message import SendAddrV2, Verack, WtxidRelay
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from helpers.api_stack import ApiStack
from helpers.wire_peer import SERVICES, WirePeer

VERSION = Version(70016, SERVICES, 0, nonce=5, subversion="/other:1/", start_height=7)


def test_greeting_of_an_inbound_peer(peers: PeerManager) -> None:
    wire = WirePeer(peers)
    assert wire.commands() == []
    wire.say(VERSION)
    assert wire.commands() == ["version", "wtxidrelay", "sendaddrv2", "verack"]
    wire.say(WtxidRelay(), SendAddrV2(), Verack())
    assert wire.sent() == [SendCmpct(False, 2)]
    peer = wire.peer
    assert (peer.fully_connected, peer.wtxid_relay, peer.wants_addrv2) == (True, True, True)
    assert (peer.version, peer.subversion, peer.start_height, peer.relays_txs) == (70016, "/other:1/", 7, True)


def test_an_outbound_peer_is_greeted_first(peers: PeerManager) -> None:
    wire = WirePeer(peers, ConnectionType.MANUAL)
    (version,) = wire.sent()
    assert isinstance(version, Version)
    assert (version.version, version.services, version.start_height, version.relay) == (70016, SERVICES, 0, True)
    wire.say(VERSION)
    assert wire.commands() == ["wtxidrelay", "sendaddrv2", "verack"]


def test_old_peers_are_not_told_of_what_they_do_not_know(peers: PeerManager) -> None:
    wire = WirePeer(peers)
    wire.say(Version(70013, SERVICES, 0), Verack())
    assert wire.commands() == ["version", "verack"]
    assert wire.peer.common_version == 70013


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        (ConnectionType.INBOUND, Version(31799, SERVICES, 0)),
        (ConnectionType.OUTBOUND_FULL_RELAY, Version(70016, 1, 0)),
        (ConnectionType.BLOCK_RELAY, Version(70016, 1 << 10 | 8, 0)),
        (ConnectionType.FEELER, Version(70016, SERVICES, 0)),
    ],
    ids=["obsolete", "no-witness", "pruned-and-we-are-far-behind", "feeler-is-done"],
)
def test_peers_that_are_left_at_once(peers: PeerManager, kind: ConnectionType, version: Version) -> None:
    wire = WirePeer(peers, kind)
    wire.say(version)
    assert wire.closed


def test_connection_to_oneself(peers: PeerManager) -> None:
    out = WirePeer(peers, ConnectionType.MANUAL)
    (greeting,) = out.sent()
    assert isinstance(greeting, Version)
    back = WirePeer(peers)
    back.say(greeting)
    assert back.closed


def test_nothing_counts_before_its_time(peers: PeerManager) -> None:
    wire = WirePeer(peers)
    wire.say(Verack(), Ping(1))
    assert wire.commands() == []
    wire.say(VERSION, Ping(1))
    assert "pong" not in wire.commands()
    wire.say(VERSION, Verack(), Verack())
    assert wire.commands() == ["sendcmpct"]
    wire.say(WtxidRelay())
    assert wire.closed


def test_a_malformed_message_is_skipped(peers: PeerManager) -> None:
    wire = WirePeer(peers)
    wire.shake_hands()
    wire.say_raw([("ping", b"123"), ("nosuch", b""), ("ping", bytes(8))])
    assert wire.sent() == [Pong(0)]
    assert not wire.closed


def test_pings(peers: PeerManager) -> None:
    wire = WirePeer(peers)
    wire.shake_hands()
    now_us = 10 * MINUTE_US
    peers.tick(now_us)
    (ping,) = wire.sent()
    assert isinstance(ping, Ping)
    peers.tick(now_us + MINUTE_US)
    assert wire.sent() == []
    assert ping.nonce is not None
    wire.say(Pong(ping.nonce ^ 1))
    assert wire.peer.state(PingState).nonce == ping.nonce
    wire.say(Pong(ping.nonce))
    assert wire.peer.state(PingState).nonce == 0
    assert wire.peer.state(PingState).last_us > 0


def test_a_peer_that_answers_no_ping_is_left(peers: PeerManager) -> None:
    wire = WirePeer(peers)
    wire.shake_hands()
    peers.tick(5 * MINUTE_US)
    peers.tick(25 * MINUTE_US)
    assert not wire.closed
    peers.tick(25 * MINUTE_US + SECOND_US)
    assert wire.closed


@pytest.mark.parametrize(
    ("kind", "address", "permissions", "closed", "discouraged"),
    [
        (ConnectionType.INBOUND, "8.8.8.8", Permission.NONE, True, True),
        (ConnectionType.INBOUND, "127.0.0.1", Permission.NONE, True, False),
        (ConnectionType.INBOUND, "8.8.8.8", Permission.NO_BAN, False, False),
        (ConnectionType.MANUAL, "8.8.8.8", Permission.NONE, False, False),
    ],
    ids=["stranger", "local", "noban", "manual"],
)
def test_misbehaviour(
    peers: PeerManager, kind: ConnectionType, address: str, permissions: Permission, closed: bool, discouraged: bool
) -> None:
    avoided = []
    peers.discourage = avoided.append
    wire = WirePeer(peers, kind, address, permissions)
    wire.shake_hands()
    wire.peer.misbehaving("for this test")
    peers.judge(wire.peer)
    assert (wire.closed, bool(avoided)) == (closed, discouraged)


def test_blocks_only(stack: ApiStack) -> None:
    handshake = stack.network.handshake
    manager = stack.network.peers
    assert not handshake.rejects_transactions(WirePeer(manager, ConnectionType.MANUAL).peer)
    assert handshake.rejects_transactions(WirePeer(manager, ConnectionType.BLOCK_RELAY).peer)
