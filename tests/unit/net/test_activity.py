"""Peers that do nothing."""

import pytest

from clarion.node.net.activity import check_activity
from clarion.node.net.clock import SECOND_US
from clarion.node.net.peer_manager import PeerManager
from helpers.wire_peer import WirePeer

START = 1_000_000


def leaves(second: int, *, last_send: int, last_receive: int, ready: bool = True) -> bool:
    wire = WirePeer(PeerManager(lambda: 0))
    peer = wire.peer
    peer.connected_us = START * SECOND_US
    peer.last_send, peer.last_receive, peer.fully_connected = last_send, last_receive, ready
    check_activity(peer, (START + second) * SECOND_US, 60)
    return wire.closed


@pytest.mark.parametrize(
    ("second", "last_send", "last_receive", "ready", "left"),
    [
        (60, 0, 0, False, False),
        (61, 0, 0, False, True),
        (61, START, 0, False, True),
        (61, START, START, False, True),
        (61, START, START, True, False),
        (1200, START, START, True, False),
        (1201, START + 1, START, True, True),
        (1201, START, START + 1, True, True),
    ],
)
def test_who_is_left(second: int, last_send: int, last_receive: int, ready: bool, left: bool) -> None:
    assert leaves(second, last_send=last_send, last_receive=last_receive, ready=ready) is left
