"""Headers and blocks between a node and a peer by hand, without sockets."""

import threading

import pytest

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.manager import ChainManager
from clarion.node.chain.state import FAR_BEHIND_BLOCKS
from clarion.node.net.messages.blocks import BlockMessage, GetBlocks, GetHeaders, Headers
from clarion.node.net.messages.handshake import Version
from clarion.node.net.messages.inventory import GetData, Inv, InvMessage
from clarion.node.net.messages.message import SendHeaders
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import InvType, ServiceFlags
from clarion.node.net.sync.block_sync import BlockSync
from clarion.node.net.sync.state import SyncState
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import BlockHash
from helpers.api_stack import ApiStack
from helpers.chain_builder import genesis, make_chain
from helpers.wire_peer import SERVICES, WirePeer


def chain_of(count: int) -> list[Block]:
    return [built.block for built in make_chain(genesis(), count) if built.block is not None]


@pytest.fixture
def wire(sync: BlockSync, peers: PeerManager) -> WirePeer:
    """Return a peer that has come through the handshake with a node at genesis."""
    wire = WirePeer(peers)
    wire.shake_hands()
    return wire


def headers_of(blocks: list[Block]) -> Headers:
    return Headers(tuple(block.header for block in blocks))


def tick(stack: ApiStack, peers: PeerManager) -> None:
    peers.tick(stack.network.context.clock.now_us())


def test_headers_then_blocks(stack: ApiStack, peers: PeerManager, wire: WirePeer) -> None:
    blocks = chain_of(3)
    wire.say(headers_of(blocks))
    tick(stack, peers)
    requests = [message for message in wire.sent() if isinstance(message, GetData)]
    assert [item.hash for request in requests for item in request.items] == [block.hash for block in blocks]
    wire.say(*[BlockMessage(block) for block in blocks])
    assert stack.result("getbestblockhash") == blocks[-1].hash[::-1].hex()
    assert not wire.peer.state(SyncState).in_flight


def test_a_header_that_does_not_connect_is_asked_about(stack: ApiStack, peers: PeerManager, wire: WirePeer) -> None:
    blocks = chain_of(3)
    tick(stack, peers)
    wire.sent()
    wire.peer.state(SyncState).last_getheaders_us = 0
    wire.say(headers_of(blocks[2:]))
    (request,) = wire.sent()
    assert isinstance(request, GetHeaders)
    assert request.locator == (genesis().hash,)
    assert wire.peer.state(SyncState).last_unknown == blocks[2].hash


def test_our_chain_for_a_peer(stack: ApiStack, wire: WirePeer) -> None:
    stack.result("generatetodescriptor", 5, "raw(51)")
    hashes = [bytes.fromhex(stack.result("getblockhash", height))[::-1] for height in range(6)]
    wire.sent()
    wire.say(GetHeaders((BlockHash(hashes[2]),)), GetBlocks((BlockHash(bytes(32)), BlockHash(hashes[3]))))
    headers, inventory = wire.sent()
    assert isinstance(headers, Headers)
    assert [header.hash for header in headers.headers] == hashes[3:]
    assert inventory == InvMessage(tuple(Inv(InvType.BLOCK, each) for each in hashes[4:]))
    wire.say(GetData((Inv(InvType.WITNESS_BLOCK, hashes[5]), Inv(InvType.BLOCK, bytes(32)))))
    (block,) = wire.sent()
    assert isinstance(block, BlockMessage)
    assert block.block.hash == hashes[5]


def test_new_blocks_are_announced_as_the_peer_wants(stack: ApiStack, sync: BlockSync, wire: WirePeer) -> None:
    stack.result("generatetodescriptor", 1, "raw(51)")
    wire.say(GetHeaders((genesis().hash,)))
    wire.sent()
    first = bytes.fromhex(stack.result("generatetodescriptor", 1, "raw(51)")[0])[::-1]
    sync.tip_moved()
    assert InvMessage((Inv(InvType.BLOCK, first),)) in wire.sent()
    wire.say(SendHeaders(), GetHeaders((genesis().hash,)))
    wire.sent()
    second = bytes.fromhex(stack.result("generatetodescriptor", 1, "raw(51)")[0])[::-1]
    sync.tip_moved()
    told = [header.hash for message in wire.sent() if isinstance(message, Headers) for header in message.headers]
    assert told == [second]


def bad_work() -> Headers:
    header = chain_of(1)[0].header
    return Headers((BlockHeader(header.version, header.prev_hash, header.merkle_root, header.time, 0x1D00FFFF, 0),))


def gap() -> Headers:
    blocks = chain_of(3)
    return headers_of([blocks[0], blocks[2]])


@pytest.mark.parametrize("message", [bad_work(), gap()], ids=["work", "gap"])
def test_headers_that_are_misbehaviour(wire: WirePeer, message: Headers) -> None:
    wire.say(message)
    assert wire.closed


def test_too_much_at_a_time(wire: WirePeer) -> None:
    wire.say_raw([("headers", b"\xfd\xd1\x07")])
    assert wire.closed


def test_a_locator_that_is_too_long(wire: WirePeer) -> None:
    wire.say(GetHeaders((BlockHash(bytes(32)),) * 101))
    assert not wire.closed
    wire.say(GetBlocks((BlockHash(bytes(32)),) * 102))
    assert wire.closed


def test_an_invalid_block_is_the_senders_fault(stack: ApiStack, wire: WirePeer) -> None:
    block = chain_of(1)[0]
    tx = block.txs[0]
    tx.outputs[0].value += 1
    header = block.header
    forged = Block(header, [type(tx)(tx.version, tx.inputs, tx.outputs, tx.lock_time)])
    wire.say(BlockMessage(forged))
    assert wire.closed
    assert stack.result("getblockcount") == 0


def entry_of(stack: ApiStack, block: Block) -> BlockIndexEntry:
    entry = stack.service.manager.lookup(block.hash)
    assert entry is not None
    return entry


def test_a_block_is_fetched_from_the_peer_that_is_named(stack: ApiStack, peers: PeerManager, sync: BlockSync) -> None:
    first, second = WirePeer(peers), WirePeer(peers)
    first.shake_hands()
    second.shake_hands()
    (block,) = chain_of(1)
    first.say(headers_of([block]))
    tick(stack, peers)
    assert block.hash in first.peer.state(SyncState).in_flight
    second.sent()
    assert sync.fetch(second.peer.id, entry_of(stack, block)) is None
    assert second.sent() == [GetData((Inv(InvType.WITNESS_BLOCK, block.hash),))]
    assert not first.peer.state(SyncState).in_flight
    second.say(BlockMessage(block))
    assert stack.result("getbestblockhash") == block.hash[::-1].hex()


def test_whom_no_block_can_be_fetched_from(stack: ApiStack, peers: PeerManager, sync: BlockSync) -> None:
    entry = stack.service.manager.tip
    stranger, old = WirePeer(peers), WirePeer(peers)
    stranger.peer.services = SERVICES
    old.shake_hands(Version(70016, SERVICES & ~ServiceFlags.WITNESS, 0, relay=True))
    assert sync.fetch(-1, entry) == "Peer does not exist"
    assert sync.fetch(old.peer.id, entry) == "Pre-SegWit peer"
    assert sync.fetch(stranger.peer.id, entry) == "Peer not fully connected"
    stack.service.manager.state.importing = True
    assert sync.fetch(old.peer.id, entry) == "Loading blocks ..."
    assert stranger.commands() == old.commands() == []


def test_a_peer_is_asked_for_more_while_its_blocks_are_in_work(
    stack: ApiStack, wire: WirePeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChainManager, "initial_download", property(lambda self: True))
    blocks = chain_of(20)
    wire.say(headers_of(blocks))
    wire.sent()
    at_work = threading.Event()
    stack.service.submit(at_work.wait, 20)
    try:
        wire.say(*[BlockMessage(block) for block in blocks[:2]])
        requests = [message for message in wire.sent() if isinstance(message, GetData)]
        assert [item.hash for request in requests for item in request.items] == [each.hash for each in blocks[16:18]]
        assert len(wire.peer.state(SyncState).in_flight) == 16
    finally:
        at_work.set()


def test_far_behind_the_best_header_no_block_is_waited_for(stack: ApiStack, wire: WirePeer) -> None:
    stack.result("generatetodescriptor", 1, "raw(51)")
    assert not stack.service.manager.initial_download
    blocks = chain_of(FAR_BEHIND_BLOCKS + 20)
    wire.say(headers_of(blocks))
    state = wire.peer.state(SyncState)
    at_work = threading.Event()
    stack.service.submit(at_work.wait, 20)
    try:
        wire.say(*[BlockMessage(block) for block in blocks[:2]])
        assert (len(state.pending), len(state.in_flight)) == (2, 16)
    finally:
        at_work.set()


def test_a_block_that_nobody_asked_for_is_waited_for(
    stack: ApiStack, wire: WirePeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChainManager, "initial_download", property(lambda self: True))
    wire.say(BlockMessage(chain_of(1)[0]))
    assert not wire.peer.state(SyncState).pending
    assert stack.result("getblockcount") == 1
