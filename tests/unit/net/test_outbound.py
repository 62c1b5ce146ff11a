"""Which connections are opened, and to whom."""

import asyncio

import pytest

from clarion.node.net.address import Network
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.clock import MINUTE_US
from clarion.node.net.local_addresses import LocalAddresses, Origin
from clarion.node.net.outbound import Outbound, Situation
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.slots import Slot, Slots, limits_of
from helpers.addresses import NOW, ONION, address_of, endpoint_of, timed
from helpers.api_stack import ApiStack
from helpers.wire_peer import WirePeer


class Dialled:
    """Takes the connector's place and notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, bool]] = []

    async def open_address(self, endpoint, kind, *, use_v2, slot=None, counts=False):  # type: ignore[no-untyped-def]
        self.asked.append((str(endpoint), kind.value, counts))
        slot.free()
        return False


class NoSeeds:
    async def fetch_addresses(self) -> None: ...
    def add_fixed_seeds(self) -> None: ...
    def note_outbound(self, full_relay: int) -> None: ...


class Choice:
    """What chooses connections, with peers that the test makes up."""

    def __init__(self, stack: ApiStack, most: int = 125) -> None:
        self.clock = stack.node.clock
        self.clock.set_mock(NOW)
        context = stack.network.context
        self.peers = PeerManager(context.clock.now_us)
        self.addresses = AddressManager(context.clock.now)
        self.own = LocalAddresses(context.options, 8333)
        self.dialled = Dialled()
        self.added = set[str]()
        self.outbound = Outbound(
            context,
            self.peers,
            self.dialled,  # type: ignore[arg-type]
            self.addresses,
            self.own,
            NoSeeds(),  # type: ignore[arg-type]
            limits_of(most),
            Slots(11),
            lambda endpoint: str(endpoint) in self.added,
            lambda services: services & 9 == 9,
        )

    def connect(self, kind: ConnectionType, text: str) -> WirePeer:
        wire = WirePeer(self.peers, kind, text)
        wire.peer.fully_connected = True
        return wire

    def fill(self, full_relay: int = 8, block_relay: int = 2) -> None:
        for number in range(full_relay):
            self.connect(ConnectionType.OUTBOUND_FULL_RELAY, f"{30 + number}.1.1.1:8333")
        for number in range(block_relay):
            self.connect(ConnectionType.BLOCK_RELAY, f"{50 + number}.1.1.1:8333")

    def know(self, *texts: str, services: int = 9) -> None:
        self.addresses.add([timed(text, services=services) for text in texts], address_of("250.1.1.1"))

    def step(self) -> list[tuple[str, str, bool]]:
        """Let one connection be opened; return what was dialled."""

        async def run() -> None:
            slot: Slot = await Slots(1).take()
            await self.outbound._open_next(slot)

        before = len(self.dialled.asked)
        asyncio.run(run())
        return self.dialled.asked[before:]


@pytest.fixture
def choice(stack: ApiStack) -> Choice:
    return Choice(stack)


def test_full_relay_comes_first_then_blocks(choice: Choice) -> None:
    choice.know("60.1.1.1")
    assert choice.step() == [("60.1.1.1:8333", "outbound-full-relay", False)]
    choice.fill(8, 0)
    assert choice.step() == [("60.1.1.1:8333", "block-relay-only", True)]
    choice.fill(0, 2)
    assert choice.step() == []


def test_anchors_come_before_all(choice: Choice) -> None:
    choice.outbound.anchors = [timed("61.1.1.1"), timed("62.1.1.1"), timed("63.1.1.1", services=1)]
    assert choice.step() == [("62.1.1.1:8333", "block-relay-only", False)]
    assert choice.step() == [("61.1.1.1:8333", "block-relay-only", False)]
    assert choice.step() == []


def test_feelers_test_new_addresses_now_and_then(choice: Choice) -> None:
    choice.fill()
    choice.know("60.1.1.1", services=1)
    assert choice.step() == []
    choice.clock.set_mock(NOW + 3600)
    assert choice.step() == [("60.1.1.1:8333", "feeler", True)]
    assert choice.outbound._next_feeler_us > (NOW + 3600) * 1_000_000


def test_an_old_tip_wants_one_more(choice: Choice) -> None:
    choice.fill()
    choice.know("60.1.1.1")
    choice.outbound.try_another(True)
    assert choice.outbound.tries_another
    assert choice.step() == [("60.1.1.1:8333", "outbound-full-relay", True)]
    choice.connect(ConnectionType.OUTBOUND_FULL_RELAY, "60.1.1.1:8333")
    assert (choice.outbound.extra_full_relay(), choice.outbound.extra_block_relay()) == (1, 0)


def test_one_more_for_blocks_every_few_minutes(choice: Choice) -> None:
    choice.fill()
    choice.know("60.1.1.1")
    choice.outbound._next_feeler_us = choice.outbound._next_extra_block_relay_us = (NOW + 10) * 1_000_000
    choice.clock.set_mock(NOW + 11)
    choice.outbound.begin_extra_block_relay()
    assert choice.step() == [("60.1.1.1:8333", "block-relay-only", True)]
    choice.connect(ConnectionType.BLOCK_RELAY, "60.1.1.1:8333")
    assert choice.outbound.extra_block_relay() == 1


def test_a_network_that_we_have_no_peer_on(choice: Choice, stack: ApiStack) -> None:
    options = stack.network.context.options
    object.__setattr__(options, "reachable", frozenset((Network.IPV4, Network.ONION)))
    choice.fill()
    choice.know("60.1.1.1", f"{ONION}:8333")
    choice.outbound._next_feeler_us = NOW * 2_000_000
    choice.clock.set_mock(NOW + 10 * MINUTE_US)
    choice.outbound._next_extra_network_us = 0
    choice.clock.set_mock(NOW)
    assert choice.step() == [(f"{ONION}:8333", "outbound-full-relay", True)]
    assert choice.outbound.has_several_on(Network.IPV4)
    assert not choice.outbound.has_several_on(Network.ONION)


@pytest.mark.parametrize(
    ("text", "services"),
    [("30.1.9.9:8333", 9), ("60.1.1.1:8333", 1), (f"{ONION}:8333", 9), ("60.1.1.2:8333", 9), ("60.1.1.3:8333", 9)],
    ids=["group", "services", "network", "added", "own"],
)
def test_whom_we_do_not_choose(choice: Choice, text: str, services: int) -> None:
    choice.fill(7, 2)
    choice.added.add("60.1.1.2:8333")
    choice.own.add(endpoint_of("60.1.1.3"), Origin.MANUAL)
    choice.know(text, services=services)
    assert choice.step() == []


def test_bad_ports_and_recent_tries_are_the_last_choice(choice: Choice) -> None:
    choice.know("60.1.1.1:22")
    entry = choice.addresses.tables.find(endpoint_of("60.1.1.1:22"))
    assert entry is not None
    situation, wish = Situation(), choice.outbound._next_wish(Situation())
    assert wish is not None
    assert [choice.outbound._fits(entry, wish, situation, tries) for tries in (1, 49, 50)] == [False, False, True]
    choice.addresses.attempt(entry.endpoint, counts=False)
    assert [choice.outbound._fits(entry, wish, situation, tries) for tries in (29, 50)] == [False, True]


def test_fewer_connections_than_usual(stack: ApiStack) -> None:
    choice = Choice(stack, most=1)
    choice.know("60.1.1.1")
    assert choice.step() == [("60.1.1.1:8333", "outbound-full-relay", True)]
    choice.fill(1, 0)
    assert choice.step() == []
