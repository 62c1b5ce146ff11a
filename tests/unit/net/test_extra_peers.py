"""Outbound peers beyond the usual number: which is left, and when one more is tried."""

from dataclasses import replace
from threading import Event

import pytest

from clarion.node.net.extra_peers import CHECK_INTERVAL_S, MIN_CONNECTED_US, STALE_CHECK_INTERVAL_US, ExtraPeers
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.sync.block_sync import BlockSync
from clarion.node.net.sync.state import SyncState
from clarion.node.scheduler import Scheduler
from helpers.addresses import NOW
from helpers.api_stack import ApiStack
from helpers.chain_builder import GENESIS_TIME, genesis, make_chain
from helpers.wire_peer import WirePeer

FULL, BLOCKS = ConnectionType.OUTBOUND_FULL_RELAY, ConnectionType.BLOCK_RELAY
SECOND = 1_000_000
MIN_CONNECTED_S = MIN_CONNECTED_US // SECOND
STALE_S = 3 * 600
INTERVAL_S = STALE_CHECK_INTERVAL_US // SECOND


class Extra:
    """The check with the network's own parts, over peers that the test makes up."""

    def __init__(self, stack: ApiStack, connect: tuple[str, ...] | None = None) -> None:
        self.clock = stack.node.clock
        self.clock.set_mock(NOW)
        network = stack.network
        network.context.options = replace(network.context.options, connect=connect)
        self.peers: PeerManager = network.peers
        self.sync: BlockSync = network.sync
        self.outbound = network.outbound
        self.active = True
        self.extra = ExtraPeers(network.context, self.peers, self.outbound, self.sync, lambda: self.active)

    def connect(self, kind: ConnectionType, count: int = 1, text: str = "30.1.1.1:8333") -> list[WirePeer]:
        found = [WirePeer(self.peers, kind, text) for _ in range(count)]
        for wire in found:
            wire.peer.fully_connected = True
            wire.peer.connected_us = NOW * SECOND
        return found

    def check(self, now: int) -> None:
        self.clock.set_mock(now)
        self.extra.check()


@pytest.fixture
def extra(stack: ApiStack) -> Extra:
    return Extra(stack)


def left(wires: list[WirePeer]) -> list[int]:
    return [number for number, wire in enumerate(wires) if wire.closed]


def test_the_usual_number_stays(extra: Extra) -> None:
    wires = extra.connect(FULL, 8) + extra.connect(BLOCKS, 2)
    extra.check(NOW + MIN_CONNECTED_S)
    assert left(wires) == []


def test_the_last_to_announce_a_block_stays(extra: Extra) -> None:
    wires = extra.connect(FULL, 9)
    extra.outbound.try_another(True)
    for number, wire in enumerate(wires):
        wire.peer.state(SyncState).last_announcement = NOW + abs(number - 4)
    wires[4].peer.state(SyncState).protected = True
    extra.check(NOW + MIN_CONNECTED_S - 1)
    assert left(wires) == []
    extra.check(NOW + MIN_CONNECTED_S)
    # The fourth and the sixth are equal: the younger one goes.
    assert left(wires) == [5]
    assert not extra.outbound.tries_another


def test_who_owes_a_block_or_is_alone_on_its_network_stays(extra: Extra, stack: ApiStack) -> None:
    wires = extra.connect(FULL, 8) + extra.connect(FULL, 1, "[2600::1]:8333")
    busy = wires[7].peer.state(SyncState)
    tip = stack.service.manager.tip
    busy.in_flight[tip.hash] = tip
    extra.check(NOW + MIN_CONNECTED_S)
    assert left(wires) == []
    busy.in_flight.clear()
    extra.check(NOW + MIN_CONNECTED_S)
    assert left(wires) == [7]


@pytest.mark.parametrize(("blocks_from", "gone"), [(None, 2), (0, 2), (1, 2), (2, 1)])
def test_of_the_two_youngest_for_blocks_the_more_useful_stays(extra: Extra, blocks_from: int | None, gone: int) -> None:
    wires = extra.connect(BLOCKS, 3)
    if blocks_from is not None:
        wires[blocks_from].peer.last_block = NOW
    extra.check(NOW + MIN_CONNECTED_S)
    assert left(wires) == [gone]


def test_an_old_tip_wants_one_more_until_a_block_comes(extra: Extra, stack: ApiStack) -> None:
    extra.check(NOW)
    extra.check(NOW + STALE_S)
    assert not extra.outbound.tries_another
    extra.check(NOW + STALE_S + INTERVAL_S + 1)
    assert extra.outbound.tries_another
    (built,) = make_chain(genesis(), 1)
    assert built.block is not None
    stack.result("submitblock", built.block.raw.hex())
    stack.network.call(extra.sync.tip_moved)
    extra.check(NOW + STALE_S + INTERVAL_S + 2)
    assert extra.outbound.tries_another
    extra.check(NOW + STALE_S + 2 * INTERVAL_S + 3)
    assert not extra.outbound.tries_another


@pytest.mark.parametrize("why", ["connect", "inactive", "importing", "requests"])
def test_when_an_old_tip_changes_nothing(stack: ApiStack, why: str) -> None:
    extra = Extra(stack, ("1.2.3.4",) if why == "connect" else None)
    extra.active = why != "inactive"
    manager = stack.service.manager
    manager.state.importing = why == "importing"
    if why == "requests":
        (wire,) = extra.connect(FULL)
        extra.sync.requests.add(wire.peer, manager.tip, 0)
    extra.check(NOW)
    extra.check(NOW + STALE_S + INTERVAL_S + 1)
    assert not extra.outbound.tries_another


def test_more_peers_for_blocks_once_the_tip_is_recent(extra: Extra) -> None:
    extra.check(NOW)
    assert not extra.outbound._extra_block_relay
    extra.check(GENESIS_TIME + 60)
    assert extra.outbound._extra_block_relay


def test_the_scheduler_has_it_checked(stack: ApiStack) -> None:
    checked = Event()
    stack.network.extra_peers.check = checked.set  # type: ignore[method-assign]
    scheduler = Scheduler()
    stack.network.schedule(scheduler)
    scheduler.start()
    try:
        assert not checked.is_set()
        scheduler.skip(CHECK_INTERVAL_S)
        assert checked.wait(30)
    finally:
        scheduler.stop()
