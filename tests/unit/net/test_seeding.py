"""First addresses."""

import asyncio
import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from clarion.node.net import seeding as module
from clarion.node.net.address import Endpoint, Network
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.context import NetContext
from clarion.node.net.options import SeedOptions
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.proxy import Proxies, Proxy
from clarion.node.net.seeding import Seeding
from clarion.node.net.slots import Slots
from helpers.addresses import NOW, address_of, endpoint_of, many
from helpers.api_stack import ApiStack
from helpers.wire_peer import WirePeer


class Dialled:
    def __init__(self) -> None:
        self.names: list[str] = []

    async def open_name(self, name: str, kind: ConnectionType, *, use_v2: bool, slot: Any) -> bool:
        assert kind is ConnectionType.ADDR_FETCH
        self.names.append(name)
        slot.free()
        return False


class Seeds:
    """Seeding with options and parameters of the test's choice."""

    def __init__(self, stack: ApiStack, *, proxies: Proxies | None = None, built_in: bytes = b"", **seeds: Any) -> None:
        self.clock = stack.node.clock
        self.clock.set_mock(NOW)
        old = stack.network.context
        options = dataclasses.replace(
            old.options,
            seeds=SeedOptions(**seeds),
            proxies=proxies or Proxies(),
            reachable=frozenset((Network.IPV4, Network.ONION)),
        )
        params = dataclasses.replace(old.params, dns_seeds=("a.test.", "b.test."), fixed_seeds=built_in)
        context = NetContext(params, options, old.chain, old.mempool, old.stores, old.clock, old.data_dir)
        self.peers = PeerManager(context.clock.now_us)
        self.addresses = AddressManager(context.clock.now)
        self.dialled = Dialled()
        self.added = False
        self.make = lambda: Seeding(
            context,
            self.peers,
            self.dialled,  # type: ignore[arg-type]
            self.addresses,
            Slots(11),
            lambda: self.added,
            lambda: True,
        )

    def connect(self, count: int) -> None:
        for number in range(count):
            wire = WirePeer(self.peers, ConnectionType.OUTBOUND_FULL_RELAY, f"{30 + number}.1.1.1:8333")
            wire.peer.fully_connected = True


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let no time pass in the pauses of seeding; return how long they would have been."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    # Only seeding's own name: servers of other tests pause in this process, too.
    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=sleep))
    return pauses


@pytest.fixture
def dns(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Answer names from a table, which the test fills."""
    table: dict[str, list[str]] = {}

    async def look_up(host: str, most: int) -> list[Any]:
        return [address_of(text) for text in table.get(host, [])][:most]

    monkeypatch.setattr(module, "look_up", look_up)
    return table


def test_names_give_addresses_that_seem_old(stack: ApiStack, dns: dict[str, list[str]]) -> None:
    seeds = Seeds(stack)
    dns["x9.a.test."] = ["20.1.1.1", "21.1.1.1"]
    seeding = seeds.make()
    asyncio.run(seeding.ask_dns())
    found = {str(each.endpoint): each for each in seeds.addresses.sample(0)}
    assert sorted(found) == ["20.1.1.1:18444", "21.1.1.1:18444"]
    assert all(3 * 86_400 <= NOW - each.time <= 7 * 86_400 and each.services == 9 for each in found.values())
    # A name without such addresses is asked by way of a node.
    asyncio.run(seeding.fetch_addresses())
    assert seeds.dialled.names == ["b.test."]


def test_a_proxy_looks_names_up(stack: ApiStack, dns: dict[str, list[str]]) -> None:
    seeds = Seeds(stack, proxies=Proxies(for_names=Proxy(endpoint_of("127.0.0.1:9050"))))
    dns["x9.a.test."] = ["20.1.1.1"]
    seeding = seeds.make()
    asyncio.run(seeding.ask_dns())
    for _ in range(3):
        asyncio.run(seeding.fetch_addresses())
    assert sorted(seeds.dialled.names) == ["a.test.", "b.test."]
    assert seeds.addresses.size() == 0


def test_nobody_is_asked_without_need(stack: ApiStack, dns: dict[str, list[str]], no_waiting: list[float]) -> None:
    seeds = Seeds(stack)
    dns["x9.a.test."] = ["20.1.1.1"]
    seeds.addresses.add(many(5), address_of("250.1.1.1"))
    seeds.connect(2)
    asyncio.run(seeds.make().ask_dns())
    assert no_waiting == [11]
    assert len({str(each.endpoint.address) for each in seeds.addresses.sample(0)} & {"20.1.1.1"}) == 0


def test_forced_and_forbidden(stack: ApiStack, dns: dict[str, list[str]]) -> None:
    dns["x9.a.test."] = ["99.1.1.1"]
    forced = Seeds(stack, force_dns=True)
    forced.addresses.add(many(5), address_of("250.1.1.1"))
    forced.connect(2)
    asyncio.run(forced.make().ask_dns())
    assert forced.addresses.tables.find(Endpoint(address_of("99.1.1.1"), 18444)) is not None
    forbidden = Seeds(stack, dns=False)
    asyncio.run(forbidden.make().ask_dns())
    assert forbidden.addresses.size() == 0


def test_named_nodes_come_first(stack: ApiStack, dns: dict[str, list[str]], no_waiting: list[float]) -> None:
    seeds = Seeds(stack, nodes=("n1", "n2"))
    seeding = seeds.make()

    async def run() -> None:
        await seeding.fetch_addresses()
        assert seeds.dialled.names in (["n1"], ["n2"])
        await seeding.fetch_addresses()
        seeding.note_outbound(0)
        await seeding.fetch_addresses()
        assert len(seeds.dialled.names) == 1, "the second one has to wait"
        seeds.clock.set_mock(NOW + 11)
        seeding.note_outbound(0)
        await seeding.fetch_addresses()
        assert sorted(seeds.dialled.names) == ["n1", "n2"]
        seeds.connect(2)
        await seeding.ask_dns()

    asyncio.run(run())
    assert no_waiting == [0.5]


def fixed(*texts: str) -> bytes:
    return b"".join([endpoint_of(text).to_v2() for text in texts])


def test_built_in_addresses_are_the_last_resort(stack: ApiStack) -> None:
    seeds = Seeds(stack, built_in=fixed("20.1.1.1:1", "[2001:4860::1]:1"))
    seeding = seeds.make()
    seeding.add_fixed_seeds()
    assert seeds.addresses.size() == 0
    seeds.clock.set_mock(NOW + 61)
    seeding.add_fixed_seeds()
    (known,) = seeds.addresses.sample(0)
    assert str(known.endpoint) == "20.1.1.1:1"
    assert 7 * 86_400 <= NOW + 61 - known.time <= 14 * 86_400


@pytest.mark.parametrize(
    ("options", "added", "used"),
    [({"dns": False}, False, True), ({"dns": False}, True, False), ({"dns": False, "fixed": False}, False, False)],
)
def test_built_in_addresses_at_once(stack: ApiStack, options: dict[str, Any], added: bool, used: bool) -> None:
    seeds = Seeds(stack, built_in=fixed("20.1.1.1:1"), **options)
    seeds.added = added
    seeds.make().add_fixed_seeds()
    assert bool(seeds.addresses.size()) is used
