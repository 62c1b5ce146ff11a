"""Light clients, without sockets."""

import pytest

from clarion.node.net.bloom_serving import BloomServing, BloomState, send_filtered_block
from clarion.node.net.messages.blocks import TxMessage
from clarion.node.net.messages.bloom import FilterAdd, FilterClear, FilterLoad, MerkleBlock
from clarion.node.net.messages.handshake import Version
from clarion.node.net.messages.message import Message
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import ServiceFlags
from helpers.wire_peer import SERVICES, WirePeer

MATCHES_ALL = FilterLoad(b"\xff" * 10, 3, 0, 1)
MATCHES_NONE = FilterLoad(bytes(10), 3, 0, 1)


@pytest.fixture
def peers(peers: PeerManager) -> PeerManager:
    BloomServing(peers)
    return peers


def client(peers: PeerManager, kind: ConnectionType = ConnectionType.INBOUND, *, offered: bool = True) -> WirePeer:
    wire = WirePeer(peers, kind)
    if offered:
        wire.peer.our_services |= ServiceFlags.BLOOM
    wire.shake_hands(Version(70016, SERVICES, 0, relay=False))
    return wire


@pytest.mark.parametrize("message", [MATCHES_ALL, FilterAdd(b"a"), FilterClear()], ids=lambda each: each.command)
def test_without_the_service(peers: PeerManager, message: Message) -> None:
    wire = client(peers, offered=False)
    wire.say(message)
    assert wire.closed


def test_a_filter_makes_a_peer_hear_of_transactions(peers: PeerManager) -> None:
    wire = client(peers)
    assert not wire.peer.relays_txs
    wire.say(MATCHES_NONE)
    bloom = wire.peer.state(BloomState).filter
    assert bloom is not None
    assert wire.peer.relays_txs
    wire.say(FilterAdd(b"abc"))
    assert b"abc" in bloom
    wire.say(FilterClear())
    assert wire.peer.state(BloomState).filter is None
    assert not wire.closed


@pytest.mark.parametrize(
    "message",
    [FilterLoad(bytes(36_001), 1, 0, 0), FilterLoad(b"a", 51, 0, 0), FilterAdd(bytes(521)), FilterAdd(b"a")],
    ids=["large", "hashes", "item", "no-filter"],
)
def test_what_is_misbehaviour(peers: PeerManager, message: Message) -> None:
    wire = client(peers)
    wire.say(message)
    assert wire.closed


def test_connections_for_blocks_have_no_filter(peers: PeerManager) -> None:
    wire = client(peers, ConnectionType.BLOCK_RELAY)
    wire.say(MATCHES_ALL, FilterAdd(b"a"), FilterClear())
    assert wire.peer.state(BloomState).filter is None
    assert not wire.closed


def test_filtered_blocks(peers: PeerManager, stack: object) -> None:
    block = stack.node.params.genesis  # type: ignore[attr-defined]
    wire = client(peers)
    send_filtered_block(wire.peer, block)
    assert wire.sent() == []
    wire.say(MATCHES_ALL)
    send_filtered_block(wire.peer, block)
    proof, tx = wire.sent()
    assert isinstance(proof, MerkleBlock)
    assert proof.header.hash == block.header.hash
    assert proof.tree.extract() == (block.header.merkle_root, [block.txs[0].txid])
    assert isinstance(tx, TxMessage)
    wire.say(MATCHES_NONE)
    send_filtered_block(wire.peer, block)
    (nothing,) = wire.sent()
    assert isinstance(nothing, MerkleBlock)
    assert nothing.tree.extract()[1] == []
