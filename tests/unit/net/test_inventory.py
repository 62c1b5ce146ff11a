"""Inventory that is neither only blocks nor only transactions."""

import logging

import pytest

from clarion.node.net.messages.blocks import BlockMessage
from clarion.node.net.messages.inventory import GetData, Inv, InvMessage, NotFound
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import InvType
from clarion.node.net.relay.transaction_relay import TransactionRelay
from clarion.node.net.sync.block_sync import BlockSync
from helpers.api_stack import ApiStack
from helpers.chain_builder import genesis
from helpers.wire_peer import WirePeer

UNKNOWN = bytes(32)


@pytest.fixture
def wire(parts: tuple[BlockSync, TransactionRelay], peers: PeerManager) -> WirePeer:
    wire = WirePeer(peers)
    wire.shake_hands()
    return wire


@pytest.mark.parametrize("kind", [InvMessage, GetData])
def test_too_much_is_misbehaviour(wire: WirePeer, kind: type[InvMessage | GetData]) -> None:
    wire.say(kind((Inv(InvType.TX, UNKNOWN),) * 50_001))
    assert wire.closed


def test_answers_come_in_the_order_of_the_questions(wire: WirePeer) -> None:
    one, two = Inv(InvType.TX, UNKNOWN), Inv(InvType.WITNESS_TX, UNKNOWN)
    wire.say(GetData((one, Inv(InvType.WITNESS_BLOCK, genesis().hash), Inv(99, UNKNOWN), two, one)))
    first, second, last = [each for each in wire.sent() if isinstance(each, BlockMessage | NotFound)]
    assert isinstance(first, BlockMessage)
    assert second == NotFound((one,))
    assert last == NotFound((two, one))


@pytest.mark.parametrize("by_wtxid", [True, False])
def test_hashes_of_the_other_kind_are_ignored(
    by_wtxid: bool, stack: ApiStack, parts: tuple[BlockSync, TransactionRelay], wire: WirePeer
) -> None:
    stack.result("generatetodescriptor", 1, "raw(51)")
    wire.peer.wtxid_relay = by_wtxid
    wire.say(InvMessage((Inv(InvType.WTX, UNKNOWN), Inv(InvType.TX, bytes(31) + b"\x01"))))
    requests = parts[1].download.requests
    assert len(requests) == 1
    assert requests.candidate_peers(UNKNOWN) == ([0] if by_wtxid else [])


def test_an_unknown_kind_is_noted(wire: WirePeer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "clarion.net")
    wire.say(InvMessage((Inv(99, UNKNOWN),)))
    assert f'Unknown inv type "0x00000063 {"00" * 32}" received from peer=0' in caplog.text
    assert not wire.closed
