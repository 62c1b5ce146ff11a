"""Compact filters for peers (BIP157), without sockets."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from clarion.node.chain.indexes.filter_records import STORE_NAME
from clarion.node.net.filter_serving import FilterServing
from clarion.node.net.handshake import Handshake
from clarion.node.net.messages.filters import (
    CFCheckpt,
    CFHeaders,
    CFilter,
    GetCFCheckpt,
    GetCFHeaders,
    GetCFilters,
)
from clarion.node.net.messages.message import Message
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import ServiceFlags
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import BlockHash, hash_from_hex
from clarion.plugins.bundled.blockfilterindex import BasicFilterIndex
from helpers.api_stack import ApiStack
from helpers.wire_peer import WirePeer

HEIGHT = 5


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiStack]:
    stack = ApiStack(tmp_path_factory.mktemp("filters"), indexes=[BasicFilterIndex()]).ready()
    stack.result("generatetodescriptor", HEIGHT, "raw(51)")
    # Waits for the index.
    stack.result("getblockfilter", stack.result("getbestblockhash"))
    context = stack.network.context
    context.filters = stack.node.database.index_reader(STORE_NAME)
    yield stack
    stack.close()


@pytest.fixture
def wire(stack: ApiStack) -> WirePeer:
    peers = PeerManager(lambda: 0)
    Handshake(stack.network.context, peers)
    FilterServing(stack.network.context, peers, stack.network.sync.serving.may_have)
    wire = WirePeer(peers)
    wire.peer.our_services |= ServiceFlags.COMPACT_FILTERS
    wire.shake_hands()
    return wire


def hash_at(stack: ApiStack, height: int) -> BlockHash:
    return BlockHash(hash_from_hex(stack.result("getblockhash", height)))


def filter_of(stack: ApiStack, height: int) -> tuple[bytes, bytes]:
    """Return a block's filter and its header."""
    answer = stack.result("getblockfilter", stack.result("getblockhash", height))
    return bytes.fromhex(answer["filter"]), hash_from_hex(answer["header"])


def test_filters(stack: ApiStack, wire: WirePeer) -> None:
    wire.say(GetCFilters(0, 2, hash_at(stack, 4)))
    assert wire.sent() == [CFilter(0, hash_at(stack, height), filter_of(stack, height)[0]) for height in (2, 3, 4)]


@pytest.mark.parametrize("start", [0, 1, 3])
def test_headers(stack: ApiStack, wire: WirePeer, start: int) -> None:
    wire.say(GetCFHeaders(0, start, hash_at(stack, 4)))
    before = filter_of(stack, start - 1)[1] if start else bytes(32)
    hashes = tuple(sha256d(filter_of(stack, height)[0]) for height in range(start, 5))
    assert wire.sent() == [CFHeaders(0, hash_at(stack, 4), before, hashes)]


def test_checkpoints(stack: ApiStack, wire: WirePeer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.node.net.filter_serving.CHECKPOINT_INTERVAL", 2)
    wire.say(GetCFCheckpt(0, hash_at(stack, HEIGHT)))
    assert wire.sent() == [CFCheckpt(0, hash_at(stack, HEIGHT), (filter_of(stack, 2)[1], filter_of(stack, 4)[1]))]


@pytest.mark.parametrize(
    "request_of",
    [
        lambda tip: GetCFilters(1, 0, tip),
        lambda tip: GetCFilters(0, 6, tip),
        lambda tip: GetCFHeaders(0, 0, BlockHash(bytes(32))),
        lambda tip: GetCFCheckpt(9, tip),
    ],
    ids=["type", "start", "unknown block", "type of checkpoints"],
)
def test_a_wrong_request_ends_the_connection(stack: ApiStack, wire: WirePeer, request_of: object) -> None:
    assert callable(request_of)
    message = request_of(hash_at(stack, HEIGHT))
    assert isinstance(message, Message)
    wire.say(message)
    assert wire.closed


def test_too_many(stack: ApiStack, wire: WirePeer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.node.net.filter_serving.MAX_FILTERS", 3)
    wire.say(GetCFilters(0, 1, hash_at(stack, 3)))
    assert not wire.closed
    wire.say(GetCFilters(0, 1, hash_at(stack, 4)))
    assert wire.closed


def test_not_offered_not_served(stack: ApiStack, wire: WirePeer) -> None:
    wire.peer.our_services &= ~ServiceFlags.COMPACT_FILTERS
    wire.say(GetCFilters(0, 1, hash_at(stack, 3)))
    assert wire.closed


@pytest.mark.parametrize("wanted", [False, True])
def test_service_is_announced_where_it_is_wanted(stack: ApiStack, wanted: bool) -> None:
    context = replace(stack.network.context, options=replace(stack.network.context.options, peer_block_filters=wanted))
    assert bool(context.local_services & ServiceFlags.COMPACT_FILTERS) is wanted
