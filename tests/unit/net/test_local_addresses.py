"""Our own addresses, and which of them a peer is told."""

import pytest

from clarion.node.net.address import Network
from clarion.node.net.interfaces import interface_addresses
from clarion.node.net.listener import Bind
from clarion.node.net.local_addresses import LocalAddresses, Origin, reachability
from clarion.node.net.options import NetOptions
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from helpers.addresses import ONION, address_of, endpoint_of
from helpers.wire_peer import WirePeer

ALL = frozenset((Network.IPV4, Network.IPV6, Network.ONION))


def own(**options: object) -> LocalAddresses:
    return LocalAddresses(NetOptions(**{"reachable": ALL, "log_ips": True, **options}), 8333)  # type: ignore[arg-type]


def told(addresses: LocalAddresses, partner: str, *, seen_as: str = "") -> str | None:
    peer = WirePeer(PeerManager(lambda: 0), address=partner).peer
    peer.seen_as = endpoint_of(seen_as, 7777) if seen_as else None
    found = addresses.told_to(peer)
    return None if found is None else str(found)


def test_scores() -> None:
    addresses = own()
    assert addresses.add(endpoint_of("1.1.1.1"), Origin.INTERFACE)
    assert addresses.add(endpoint_of("1.1.1.1:7"), Origin.BIND)
    assert addresses.add(endpoint_of("1.1.1.1:9"), Origin.INTERFACE)
    addresses.note_seen(address_of("1.1.1.1"))
    addresses.note_seen(address_of("2.2.2.2"))
    ((address, known),) = addresses.entries()
    assert (str(address), known.port, known.score) == ("1.1.1.1", 7, 4)
    assert address in addresses


@pytest.mark.parametrize(
    ("text", "origin", "options"),
    [
        ("127.0.0.1", Origin.MANUAL, {}),
        ("10.0.0.1", Origin.INTERFACE, {}),
        ("1.1.1.1", Origin.BIND, {"discover": False}),
        (ONION, Origin.BIND, {"reachable": frozenset((Network.IPV4,))}),
    ],
)
def test_what_is_not_learned(text: str, origin: Origin, options: dict[str, object]) -> None:
    assert not own(**options).add(endpoint_of(text), origin)


def test_what_the_operator_says_counts_in_any_case() -> None:
    addresses = own(
        discover=False, external=(endpoint_of("1.1.1.1", 0), endpoint_of(f"{ONION}:5")), reachable=frozenset()
    )
    addresses.learn([Bind(endpoint_of("2.2.2.2"))])
    assert {(str(address), known.port) for address, known in addresses.entries()} == {("1.1.1.1", 8333), (ONION, 5)}


def test_what_follows_from_where_we_listen() -> None:
    addresses = own()
    addresses.learn(
        [
            Bind(endpoint_of("1.1.1.1:5")),
            Bind(endpoint_of("2.2.2.2"), Permission.NO_BAN),
            Bind(endpoint_of("3.3.3.3"), onion=True),
            Bind(endpoint_of("127.0.0.1")),
        ]
    )
    assert [str(address) for address, _ in addresses.entries()] == ["1.1.1.1"]


def test_the_interfaces_are_asked_where_we_listen_everywhere() -> None:
    addresses = own()
    addresses.learn([Bind(endpoint_of("0.0.0.0"))])
    found = {address for address in interface_addresses() if address.is_routable}
    assert {address for address, _ in addresses.entries()} == found
    assert all(not address.is_local for address in interface_addresses())


def test_the_best_address_for_a_peer() -> None:
    addresses = own()
    for text in ("1.1.1.1", "[2001:4860::1]:8333", f"{ONION}:8333"):
        addresses.add(endpoint_of(text), Origin.MANUAL)
    assert told(addresses, "2.2.2.2:1") == "1.1.1.1:8333"
    assert told(addresses, "[2001:4860::9]:1") == "[2001:4860::1]:8333"
    assert told(addresses, f"{ONION}:1") == f"{ONION}:8333"
    assert told(own(), "2.2.2.2:1") is None
    hidden = own()
    hidden.add(endpoint_of(ONION), Origin.MANUAL)
    assert told(hidden, "2.2.2.2:1") is None


def test_a_peer_may_know_better() -> None:
    assert told(own(), "2.2.2.2:1", seen_as="5.5.5.5:99") == "5.5.5.5:99"
    assert told(own(), "127.0.0.1:1", seen_as="5.5.5.5") is None
    assert told(own(), "2.2.2.2:1", seen_as="10.0.0.1") is None
    assert told(own(discover=False), "2.2.2.2:1", seen_as="5.5.5.5") is None
    known = own()
    known.add(endpoint_of("1.1.1.1"), Origin.BIND)
    both = {told(known, "2.2.2.2:1", seen_as="5.5.5.5:99") for _ in range(100)}
    assert both == {"1.1.1.1:8333", "5.5.5.5:99"}


@pytest.mark.parametrize(
    ("ours", "theirs", "rank"),
    [
        ("10.0.0.1", "1.1.1.1", 0),
        (ONION, "1.1.1.1", 1),
        ("2001:0:1:2::3", "2001:4860::1", 2),
        ("2002:101:101::1", "2001:4860::1", 3),
        ("1.1.1.1", "2001:4860::1", 4),
        ("2001:4860::2", "2001:4860::1", 5),
        (ONION, ONION, 6),
        (ONION, "10.0.0.1", 6),
    ],
)
def test_reachability(ours: str, theirs: str, rank: int) -> None:
    assert reachability(address_of(ours), address_of(theirs)) == rank
