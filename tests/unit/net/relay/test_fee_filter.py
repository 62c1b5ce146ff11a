"""What peers are told of the mempool's minimum fee rate."""

import pytest
from unit.net.relay.conftest import Connect

from clarion.node.consensus.constants import MAX_MONEY
from clarion.node.mempool.feerate import FeeRate
from clarion.node.net.clock import MINUTE_US
from clarion.node.net.messages.handshake import FeeFilter
from clarion.node.net.peer import ConnectionType
from clarion.node.net.permissions import Permission
from clarion.node.net.relay.fee_filter import FeeFilterRounder, FeeFilterSender
from clarion.node.net.relay.state import RelayState
from helpers.api_stack import ApiStack
from helpers.wire_peer import WirePeer

LEAST = 100
HIGHEST = 9_936_506
"""The reference's value for MAX_MONEY with the default -incrementalrelayfee."""


def filters(wire: WirePeer) -> list[int]:
    return [message.fee_rate for message in wire.sent() if isinstance(message, FeeFilter)]


@pytest.fixture
def sender(stack: ApiStack) -> FeeFilterSender:
    return FeeFilterSender(stack.network.context)


@pytest.mark.parametrize("feerate", [0, 1, 49, 50, 51, 1000, 123_456])
def test_rounding_goes_to_a_neighbour(feerate: int) -> None:
    rounder = FeeFilterRounder(FeeRate(100))
    found = {rounder.round(feerate) for _ in range(200)}
    assert len(found) == (1 if feerate == 0 else 2)
    assert min(found) <= feerate
    assert max(found) <= max(50, 1.21 * feerate)


def test_rounding_to_the_lower_one_is_twice_as_likely() -> None:
    rounder = FeeFilterRounder(FeeRate(100))
    lower = sum(rounder.round(1000) < 1000 for _ in range(3000))
    assert 1850 < lower < 2150
    assert {rounder.round(MAX_MONEY) for _ in range(20)} == {HIGHEST}


def test_in_initial_download_nothing_is_wanted(stack: ApiStack, sender: FeeFilterSender) -> None:
    wire = WirePeer(stack.network.peers)
    wire.peer.common_version = 70016
    state = stack.node.manager.state
    stack.service.submit(setattr, state, "initial_download", True).result()
    sender.send(wire.peer, 1)
    assert filters(wire) == [HIGHEST]
    stack.service.submit(setattr, state, "initial_download", False).result()
    sender.send(wire.peer, 2)
    assert filters(wire) == [LEAST]


def test_a_great_change_is_told_soon(
    connect: Connect, sender: FeeFilterSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = connect()
    state = wire.peer.state(RelayState)
    now_us = 60 * MINUTE_US
    state.next_feefilter_us = now_us + 6 * MINUTE_US
    monkeypatch.setattr(FeeFilterSender, "_read", lambda self: LEAST)
    sender.send(wire.peer, now_us)
    assert state.next_feefilter_us == now_us + 6 * MINUTE_US
    monkeypatch.setattr(FeeFilterSender, "_read", lambda self: 5_000)
    sender.send(wire.peer, now_us)
    assert now_us <= state.next_feefilter_us <= now_us + 5 * MINUTE_US
    sender.send(wire.peer, now_us + 5 * MINUTE_US + 1)
    (told,) = filters(wire)
    assert 4_000 < told < 6_000


@pytest.mark.parametrize(
    ("kind", "permissions"),
    [
        (ConnectionType.BLOCK_RELAY, Permission.NONE),
        (ConnectionType.INBOUND, Permission.FORCE_RELAY),
    ],
)
def test_who_is_told_nothing(
    kind: ConnectionType, permissions: Permission, connect: Connect, sender: FeeFilterSender
) -> None:
    wire = connect(kind, permissions)
    sender.send(wire.peer, 1 << 60)
    assert filters(wire) == []
