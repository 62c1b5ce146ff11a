"""Outbound peers that lag behind: their deadlines, and whom none is set."""

import pytest

from clarion.node.net.handshake import Handshake
from clarion.node.net.messages.blocks import BlockMessage, GetHeaders, Headers
from clarion.node.net.messages.handshake import Ping, Pong, Version
from clarion.node.net.messages.message import Verack
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.sync.block_sync import BlockSync
from clarion.node.net.sync.lagging import CATCH_UP_US, MAX_PROTECTED
from clarion.node.net.sync.state import SyncState
from clarion.node.primitives.block import Block
from helpers.api_stack import ApiStack
from helpers.chain_builder import genesis, make_chain
from helpers.wire_peer import SERVICES, WirePeer

FULL, BLOCKS = ConnectionType.OUTBOUND_FULL_RELAY, ConnectionType.BLOCK_RELAY
RESPONSE_S = 120
STEP_S = 300
CATCH_UP_S = CATCH_UP_US // 1_000_000
CHAIN: list[Block] = [built.block for built in make_chain(genesis(), 4) if built.block is not None]


def headers(*blocks: Block) -> Headers:
    return Headers(tuple(block.header for block in blocks))


class Watched:
    """A node with three blocks that is synced with its outbound peers, at a time that the test sets."""

    def __init__(self, stack: ApiStack, peers: PeerManager, sync: BlockSync) -> None:
        self.clock, self._context = stack.node.clock, stack.network.context
        self.now = CHAIN[-1].header.time
        self.clock.set_mock(self.now)
        self._peers, self._sync = peers, sync
        self._wires: list[WirePeer] = []
        self.source = self.peer(ConnectionType.INBOUND, *CHAIN[:3])
        self.source.say(*map(BlockMessage, CHAIN[:3]))
        assert stack.result("getblockcount") == 3

    def peer(self, kind: ConnectionType, *known: Block) -> WirePeer:
        wire = WirePeer(self._peers, kind)
        self._wires.append(wire)
        wire.say(Version(70016, SERVICES, 0, relay=True), Verack())
        self.pass_time(0)
        wire.say(headers(*known))
        return wire

    def pass_time(self, seconds: int) -> list[GetHeaders]:
        """Let time pass in small steps, in which pings are answered; return the requests for headers."""
        asked: list[GetHeaders] = []
        end = self.now + seconds
        while True:
            self.clock.set_mock(self.now)
            self._peers.tick(self._context.clock.now_us())
            for wire in self._wires:
                for message in wire.sent():
                    if isinstance(message, Ping):
                        wire.say(Pong(message.nonce or 0))
                    elif isinstance(message, GetHeaders):
                        asked.append(message)
            if self.now == end:
                return asked
            self.now = min(end, self.now + STEP_S)


@pytest.fixture
def peers(stack: ApiStack) -> PeerManager:
    """Return peers that are greeted, and for whom things are due by the node's clock."""
    manager = PeerManager(stack.network.context.clock.now_us)
    Handshake(stack.network.context, manager)
    return manager


@pytest.fixture
def watched(stack: ApiStack, peers: PeerManager, sync: BlockSync) -> Watched:
    return Watched(stack, peers, sync)


@pytest.mark.parametrize("known", [[], CHAIN[:2]], ids=["silent", "behind"])
@pytest.mark.parametrize("kind", [FULL, BLOCKS])
def test_a_peer_without_our_chain_is_asked_once_and_left(
    watched: Watched, kind: ConnectionType, known: list[Block]
) -> None:
    wire = watched.peer(kind, *known)
    assert watched.pass_time(CATCH_UP_S) == []
    (asked,) = watched.pass_time(1)
    assert asked.locator[0] == CHAIN[1].hash
    watched.pass_time(RESPONSE_S)
    assert not wire.closed
    watched.pass_time(1)
    assert wire.closed


def test_the_answer_to_the_last_question_saves_a_peer(watched: Watched) -> None:
    wire = watched.peer(BLOCKS)
    watched.pass_time(CATCH_UP_S + 1)
    wire.say(headers(*CHAIN[:3]))
    watched.pass_time(RESPONSE_S + 1)
    assert not wire.closed
    assert wire.peer.state(SyncState).catch_up_to is None


def test_a_peer_need_not_keep_up_with_every_block(watched: Watched) -> None:
    wire = watched.peer(BLOCKS, *CHAIN[:2])
    watched.source.say(headers(CHAIN[3]), BlockMessage(CHAIN[3]))
    wire.say(headers(CHAIN[2]))
    watched.pass_time(CATCH_UP_S + RESPONSE_S + 2)
    state = wire.peer.state(SyncState)
    assert not wire.closed
    assert state.catch_up_to is not None
    assert state.catch_up_to.hash == CHAIN[3].hash


def test_only_full_relay_peers_and_few_of_them_are_protected(watched: Watched) -> None:
    for_blocks = watched.peer(BLOCKS, *CHAIN[:3])
    lagging = watched.peer(FULL, *CHAIN[:2])
    good = [watched.peer(FULL, *CHAIN[:3]) for _ in range(MAX_PROTECTED + 1)]
    protected = [wire.peer.state(SyncState).protected for wire in (for_blocks, lagging, *good)]
    assert protected == [False, False, *[True] * MAX_PROTECTED, False]
    watched.source.say(headers(CHAIN[3]), BlockMessage(CHAIN[3]))
    for seconds in (0, CATCH_UP_S + 1, RESPONSE_S + 1):
        watched.pass_time(seconds)
    assert [wire.closed for wire in (for_blocks, lagging, *good)] == [not each for each in protected]


def test_inbound_peers_may_lag(watched: Watched) -> None:
    wire = watched.peer(ConnectionType.INBOUND, *CHAIN[:1])
    for seconds in (0, CATCH_UP_S + 1, RESPONSE_S + 1):
        watched.pass_time(seconds)
    assert not wire.closed
