"""Addresses between peers, without sockets."""

import pytest

from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.address_relay import AddressRelay, AddressState
from clarion.node.net.bans import BanList
from clarion.node.net.clock import SECOND_US
from clarion.node.net.handshake import Handshake
from clarion.node.net.local_addresses import LocalAddresses, Origin
from clarion.node.net.messages.addresses import Addr, AddrV2, TimedAddress
from clarion.node.net.messages.handshake import Version
from clarion.node.net.messages.message import GetAddr, Message, SendAddrV2, Verack
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from helpers.addresses import NOW, ONION, address_of, endpoint_of, many, timed
from helpers.api_stack import ApiStack
from helpers.wire_peer import SERVICES, WirePeer


class Net:
    """A relay of addresses and the peers at its ends."""

    def __init__(self, stack: ApiStack) -> None:
        self.clock = stack.node.clock
        self.clock.set_mock(NOW)
        context = stack.network.context
        self.peers = PeerManager(context.clock.now_us)
        handshake = Handshake(context, self.peers)
        self.addresses = AddressManager(context.clock.now)
        self.own = LocalAddresses(context.options, 8333)
        self.bans = BanList(stack.node.folder / "bans.json", context.clock.now, 100)
        self.relay = AddressRelay(context, self.peers, handshake, self.addresses, self.own, self.bans)

    def peer(
        self,
        kind: ConnectionType = ConnectionType.INBOUND,
        *,
        address: str = "10.0.0.1:1",
        permissions: Permission = Permission.NONE,
        v2: bool = True,
    ) -> WirePeer:
        wire = WirePeer(self.peers, kind, address, permissions)
        wire.peer.connected_us = NOW * SECOND_US
        early: list[Message] = [SendAddrV2()] if v2 else []
        wire.say(Version(70016, SERVICES, NOW), *early, Verack())
        return wire

    def wait(self, seconds: int) -> None:
        self.clock.set_mock(self.clock.now() + seconds)
        self.peers.tick(self.clock.now() * SECOND_US)


@pytest.fixture
def net(stack: ApiStack) -> Net:
    return Net(stack)


def told(wire: WirePeer) -> list[TimedAddress]:
    """Return the addresses that a peer has been told since the last call."""
    return [each for message in wire.sent() if isinstance(message, Addr | AddrV2) for each in message.addresses]


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (ConnectionType.INBOUND, False),
        (ConnectionType.OUTBOUND_FULL_RELAY, True),
        (ConnectionType.MANUAL, True),
        (ConnectionType.ADDR_FETCH, True),
        (ConnectionType.BLOCK_RELAY, False),
        (ConnectionType.FEELER, False),
    ],
)
def test_who_is_asked_for_addresses(net: Net, kind: ConnectionType, asked: bool) -> None:
    wire = net.peer(kind, address="1.1.1.1:8333")
    assert (GetAddr() in wire.sent()) is asked


def test_an_address_that_answers_is_tried(net: Net) -> None:
    net.addresses.add([timed("1.1.1.1", services=1)], address_of("2.2.2.2"))
    wire = net.peer(ConnectionType.BLOCK_RELAY, address="1.1.1.1:8333")
    entry = net.addresses.tables.find(endpoint_of("1.1.1.1"))
    assert entry is not None
    assert (entry.is_tried, entry.services) == (True, SERVICES)
    net.wait(2000)
    net.peers.remove(wire.peer)
    assert entry.time == NOW, "when it was a peer for blocks is nobody's business"


def test_addresses_are_passed_on_to_two_peers(net: Net) -> None:
    source = net.peer(permissions=Permission.ADDR)
    others = [net.peer(address=f"10.0.1.{number}:1") for number in range(1, 6)]
    for each in others:
        each.say(Addr(()))
    source.say(AddrV2((timed("1.2.3.4"), timed(f"{ONION}:8333"))))
    net.wait(600)
    got = [told(each) for each in others]
    assert sum(timed("1.2.3.4") in each for each in got) == 2
    assert sum(timed(f"{ONION}:8333") in each for each in got) in (1, 2), "a network that we are not on"
    assert told(source) == []
    assert net.addresses.size() == 1
    source.say(AddrV2((timed("1.2.3.4"),)))
    net.wait(600)
    assert all(told(each) == [] for each in others)


@pytest.mark.parametrize(
    "received",
    [
        many(11),
        [timed("1.2.3.4", age_s=601)],
        [timed("10.2.3.4")],
        [timed("1.2.3.4", age_s=-601)],
        [timed("1.2.3.4", services=8)],
    ],
    ids=["many", "old", "private", "future", "no-node"],
)
def test_what_is_not_passed_on(net: Net, received: list[TimedAddress]) -> None:
    source, other = net.peer(permissions=Permission.ADDR), net.peer(address="10.0.0.2:1")
    other.say(Addr(()))
    source.say(Addr(tuple(received)))
    net.wait(600)
    assert told(other) == []


def test_unwelcome_addresses_are_forgotten(net: Net) -> None:
    source, other = net.peer(), net.peer(address="10.0.0.2:1")
    other.say(Addr(()))
    net.bans.discourage(address_of("1.2.3.4"))
    source.say(Addr((timed("1.2.3.4"),)))
    net.wait(600)
    assert told(other) == []
    assert net.addresses.size() == 0
    assert source.peer.state(AddressState).processed == 0


def test_too_many_at_once(net: Net) -> None:
    wire = net.peer(address="1.1.1.1:1")
    wire.say(Addr(tuple(many(1001))))
    assert wire.closed
    assert net.addresses.size() == 0


def test_the_rate(net: Net) -> None:
    wire, trusted = net.peer(), net.peer(permissions=Permission.ADDR)
    state = wire.peer.state(AddressState)
    wire.say(Addr(tuple(many(10))))
    assert (state.processed, state.limited) == (1, 9)
    net.clock.set_mock(NOW + 50)
    wire.say(Addr(tuple(many(10))))
    assert (state.processed, state.limited) == (6, 14)
    trusted.say(Addr(tuple(many(600))))
    assert trusted.peer.state(AddressState).limited == 0


def test_an_answer_may_be_as_long_as_it_gets(net: Net) -> None:
    wire = net.peer(ConnectionType.OUTBOUND_FULL_RELAY, address="1.1.1.1:8333")
    wire.say(Addr(tuple(many(1000))))
    assert wire.peer.state(AddressState).processed == 1000
    assert wire.peer.state(AddressState).asked
    wire.say(Addr(tuple(many(1))))
    assert not wire.peer.state(AddressState).asked


def test_peers_that_are_only_asked_for_addresses(net: Net) -> None:
    wire = net.peer(ConnectionType.ADDR_FETCH, address="1.1.1.1:8333")
    wire.say(Addr((timed("1.1.1.1:8333"),)))
    assert not wire.closed
    wire.say(Addr(tuple(many(2))))
    assert wire.closed
    idle = net.peer(ConnectionType.ADDR_FETCH, address="1.1.1.2:8333")
    net.wait(300)
    assert not idle.closed
    net.wait(1)
    assert idle.closed


def test_answers_to_getaddr(net: Net) -> None:
    net.addresses.add(many(1000), address_of("250.1.1.1"))
    wires = [net.peer(address=f"10.0.0.{number}:1") for number in range(2)]
    trusted = net.peer(permissions=Permission.ADDR)
    wires[0].peer.network_key = wires[1].peer.network_key = 7
    got = []
    for wire in (*wires, trusted):
        wire.say(GetAddr(), GetAddr())
        net.wait(400)
        got.append({each.endpoint for each in told(wire)})
    assert len(got[0]) == net.addresses.size() * 23 // 100
    assert got[0] == got[1]
    assert got[0] != got[2]


def test_peers_that_we_chose_are_not_answered(net: Net) -> None:
    net.addresses.add(many(100), address_of("250.1.1.1"))
    wire = net.peer(ConnectionType.OUTBOUND_FULL_RELAY, address="1.1.1.1:8333")
    wire.say(GetAddr())
    net.wait(600)
    assert told(wire) == []


def test_the_old_encoding_carries_no_onions(net: Net) -> None:
    net.addresses.add([*many(100), *[timed(f"{ONION}:{port}") for port in range(1, 100)]], address_of("250.1.1.1"))
    wire = net.peer(v2=False)
    wire.say(GetAddr())
    net.wait(600)
    (message,) = [each for each in wire.sent() if isinstance(each, Addr)]
    assert all(each.endpoint.address.is_v1_compatible for each in message.addresses)


def test_our_own_address(net: Net, stack: ApiStack) -> None:
    stack.result("generatetodescriptor", 1, "raw(51)")
    options = stack.network.context.options
    object.__setattr__(options, "listen", True)
    net.own.add(endpoint_of("1.2.3.4"), Origin.MANUAL)
    wire = net.peer(ConnectionType.OUTBOUND_FULL_RELAY, address="1.1.1.1:8333")
    assert [str(each.endpoint) for each in told(wire)] == ["1.2.3.4:8333"]
    state = wire.peer.state(AddressState)
    assert state.next_own_us > NOW * SECOND_US
    # A day later; the peer seems to know it already.
    state.next_own_us, state.next_send_us = 1, 0
    net.wait(1)
    assert [str(each.endpoint) for each in told(wire)] == ["1.2.3.4:8333"]
