"""What is remembered of addresses, and which are chosen."""

import pytest

from clarion.node.net.address import Network
from clarion.node.net.address_manager.consistency import fault_of
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.address_manager.tables import AddressTables
from helpers.addresses import NOW, ONION, Time, address_of, endpoint_of, many, timed

SOURCE = address_of("252.2.2.2")
DAY = 24 * 60 * 60


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def addresses(time: Time) -> AddressManager:
    return AddressManager(time, AddressTables(deterministic=True), check_every=1)


def test_one_address(addresses: AddressManager) -> None:
    assert addresses.select() is None
    assert addresses.add([timed("250.1.1.1:8333")], SOURCE)
    chosen = addresses.select()
    assert chosen is not None
    assert str(chosen.endpoint) == "250.1.1.1:8333"
    assert not addresses.add([timed("250.1.1.1:8333")], SOURCE)
    assert addresses.add([timed("250.1.1.1:8334")], SOURCE), "another port is another node"
    assert addresses.size() == 2


@pytest.mark.parametrize("text", ["127.0.0.1", "10.0.0.1", "::1", "0.0.0.0"])
def test_what_is_not_remembered(addresses: AddressManager, text: str) -> None:
    assert not addresses.add([timed(text)], SOURCE)
    assert addresses.size() == 0


def test_whom_we_were_connected_to_is_tried(addresses: AddressManager) -> None:
    addresses.add([timed("250.1.1.1")], SOURCE)
    assert addresses.good(endpoint_of("250.1.1.1"))
    assert not addresses.good(endpoint_of("250.1.1.1"))
    assert not addresses.good(endpoint_of("250.1.1.9"))
    assert (addresses.size(is_tried=True), addresses.size(is_tried=False)) == (1, 0)
    assert addresses.select(new_only=True) is None
    assert addresses.select() is not None


def test_networks(addresses: AddressManager) -> None:
    addresses.add([timed("250.1.1.1"), timed(ONION), timed("2001:4860::1")], SOURCE)
    assert [addresses.size(network) for network in (Network.IPV4, Network.IPV6, Network.ONION, Network.I2P)] == [
        1, 1, 1, 0,
    ]  # fmt: skip
    for _ in range(5):
        chosen = addresses.select({Network.ONION, Network.I2P})
        assert chosen is not None
        assert chosen.endpoint.address.network is Network.ONION
    assert addresses.select({Network.CJDNS}) is None
    assert [each.endpoint.address.network for each in addresses.sample(0, 0, Network.IPV6)] == [Network.IPV6]


def test_time_and_penalty(addresses: AddressManager) -> None:
    addresses.add([timed("250.1.1.1", age_s=100)], SOURCE, 7200)
    entry = addresses.tables.find(endpoint_of("250.1.1.1"))
    assert entry is not None
    assert entry.time == NOW - 7300
    # Who tells of itself has no penalty, and what is newer by less than an hour says nothing.
    addresses.add([timed("250.1.1.1", age_s=3800, services=1 << 20)], SOURCE)
    assert (entry.time, entry.services) == (NOW - 7300, 9 | 1 << 20)
    addresses.add([timed("250.1.1.1", age_s=100)], address_of("250.1.1.1"), 7200)
    assert entry.time == NOW - 100


def test_an_end_of_a_connection_shows_that_the_node_lives(addresses: AddressManager, time: Time) -> None:
    addresses.add([timed("250.1.1.1")], SOURCE)
    entry = addresses.tables.find(endpoint_of("250.1.1.1"))
    assert entry is not None
    time.now += 20 * 60
    addresses.connected(entry.endpoint)
    assert entry.time == NOW
    time.now += 1
    addresses.connected(entry.endpoint)
    assert entry.time == time.now
    addresses.set_services(entry.endpoint, 1)
    assert entry.services == 1


def test_tries_in_vain_count_once_between_successes_elsewhere(addresses: AddressManager, time: Time) -> None:
    addresses.add([timed("250.1.1.1"), timed("250.2.1.1")], SOURCE)
    entry = addresses.tables.find(endpoint_of("250.1.1.1"))
    assert entry is not None
    addresses.good(endpoint_of("250.2.1.1"))
    for counts in (True, True, False):
        time.now += 1
        addresses.attempt(entry.endpoint, counts=counts)
    assert entry.attempts == 1
    assert entry.last_try == time.now


@pytest.mark.parametrize(
    ("age_s", "attempts", "last_success", "last_try", "terrible"),
    [
        (0, 0, 0, 0, False),
        (30 * DAY, 0, 0, 0, False),
        (30 * DAY + 1, 0, 0, 0, True),
        (30 * DAY + 1, 0, 0, NOW - 60, False),
        (-600, 0, 0, 0, False),
        (-601, 0, 0, 0, True),
        (0, 3, 0, 0, True),
        (0, 9, NOW - 8 * DAY, 0, False),
        (0, 10, NOW - 8 * DAY, 0, True),
        (0, 10, NOW - 6 * DAY, 0, False),
    ],
)
def test_addresses_that_look_useless(
    addresses: AddressManager, age_s: int, attempts: int, last_success: int, last_try: int, terrible: bool
) -> None:
    addresses.add([timed("250.1.1.1")], SOURCE)
    entry = addresses.tables.find(endpoint_of("250.1.1.1"))
    assert entry is not None
    entry.time, entry.attempts, entry.last_success, entry.last_try = NOW - age_s, attempts, last_success, last_try
    assert entry.is_terrible(NOW) is terrible
    assert len(addresses.sample(0)) == (not terrible)
    assert len(addresses.sample(0, filtered=False)) == 1


def test_samples(addresses: AddressManager) -> None:
    addresses.add(many(500), SOURCE)
    size = addresses.size()
    assert len({each.endpoint for each in addresses.sample(0)}) == size
    assert len(addresses.sample(0, 23)) == size * 23 // 100
    assert len(addresses.sample(10, 23)) == 10


def test_one_source_fills_few_buckets(addresses: AddressManager) -> None:
    addresses.add(many(5000), SOURCE)
    assert len({bucket for bucket, _, _ in addresses.places(is_tried=False)}) <= 64
    for number in range(40):
        addresses.add(many(5000)[number * 100 : number * 100 + 100], address_of(f"{30 + number}.1.1.1"))
    assert len({bucket for bucket, _, _ in addresses.places(is_tried=False)}) > 300


def collide(addresses: AddressManager) -> tuple[str, str]:
    """Make addresses tried until one has to wait for the place of another; return both."""
    for number in range(1, 4000):
        text = f"250.1.{number // 250}.{number % 250 + 1}"
        addresses.add([timed(text)], address_of(text))
        if addresses.tables.find(endpoint_of(text)) and not addresses.good(endpoint_of(text)):
            tested = addresses.select_to_test()
            assert tested is not None
            return text, str(tested.endpoint.address)
    raise AssertionError("there was no collision")


def test_who_has_a_place_among_the_tried_is_tested_first(addresses: AddressManager, time: Time) -> None:
    new, old = collide(addresses)
    addresses.resolve_collisions()
    assert addresses.select_to_test() is None, "it was good a moment ago"
    time.now += 5 * 60 * 60
    addresses.good(endpoint_of(new))
    addresses.attempt(endpoint_of(old), counts=True)
    addresses.resolve_collisions()
    assert addresses.select_to_test() is not None, "it has a minute"
    time.now += 61
    addresses.resolve_collisions()
    entries = {str(entry.endpoint.address) for _, _, entry in addresses.places(is_tried=True)}
    assert new in entries
    assert old not in entries
    assert fault_of(addresses.tables) == 0


def test_a_test_that_can_not_be_made_is_lost(addresses: AddressManager, time: Time) -> None:
    new, old = collide(addresses)
    time.now += 5 * 60 * 60
    addresses.good(endpoint_of(new))
    time.now += 41 * 60
    addresses.resolve_collisions()
    entries = {str(entry.endpoint.address) for _, _, entry in addresses.places(is_tried=True)}
    assert (new in entries, old in entries) == (True, False)
    assert addresses.select_to_test() is None
