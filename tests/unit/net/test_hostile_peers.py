"""What one peer can make us do: work follows the bytes that it sends, answers are bounded, memory too."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from clarion.node.net.address import Endpoint, parse_address
from clarion.node.net.address_book import AddressBook
from clarion.node.net.bloom_serving import BloomServing
from clarion.node.net.connection import Connection
from clarion.node.net.handshake import Handshake
from clarion.node.net.inventory import Inventory
from clarion.node.net.messages.addresses import Addr, TimedAddress
from clarion.node.net.messages.blocks import GetBlocks, GetHeaders, Headers, TxMessage
from clarion.node.net.messages.bloom import FilterLoad
from clarion.node.net.messages.compact import BlockTxn, GetBlockTxn
from clarion.node.net.messages.handshake import Ping, Version
from clarion.node.net.messages.inventory import GetData, Inv, InvMessage, NotFound
from clarion.node.net.messages.message import GetAddr, Mempool, Message, Verack
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import InvType, ServiceFlags
from clarion.node.net.relay.transaction_relay import TransactionRelay
from clarion.node.net.sync.block_sync import BlockSync
from clarion.node.net.transport.transport import Received
from clarion.node.net.transport.v1 import V1Transport
from clarion.node.primitives.ids import NULL_HASH, BlockHash
from clarion.node.primitives.transaction import Transaction
from helpers.api_stack import ApiStack
from helpers.chain_builder import genesis, make_chain
from helpers.simple_txs import coin_of, simple_tx
from helpers.wire_peer import MAGIC, SERVICES, WirePeer, endpoint_of
from helpers.work_count import Work, counted_work

CALLS_A_BYTE = 4
CALLS_A_MESSAGE = 1_500
CALLS_A_TURN = 700_000
"""A message is decoded at one go."""
BYTES_A_BYTE = 1
BYTES_A_MESSAGE = 2_000 * 81 + 100
"""An answer with as many headers as there may be."""


def hashes(count: int) -> list[BlockHash]:
    return [BlockHash(number.to_bytes(32, "little")) for number in range(1, count + 1)]


def inventory(kind: int, count: int) -> tuple[Inv, ...]:
    return tuple(Inv(kind, each) for each in hashes(count))


def low_work_headers() -> Headers:
    return Headers(tuple(built.block.header for built in make_chain(genesis(), 300) if built.block is not None))


def orphans() -> list[Message]:
    return [TxMessage(simple_tx([coin_of(number)])) for number in range(1, 500)]


def heavy_transaction() -> Transaction:
    return simple_tx([coin_of(number) for number in range(1, 2_000)], witness=(bytes(100),))


def addresses() -> Addr:
    address = parse_address("9.8.7.6")
    assert address is not None
    return Addr(tuple(TimedAddress(1_700_000_000, 9, Endpoint(address, port)) for port in range(1, 1_001)))


FLOODS: dict[str, Callable[[], list[Message]]] = {
    "transactions that are announced": lambda: [InvMessage(inventory(InvType.WTX, 50_000))],
    "blocks that are announced": lambda: [InvMessage(inventory(InvType.BLOCK, 50_000))],
    "inventory of no kind": lambda: [InvMessage(inventory(99, 50_000))],
    "transactions that nobody has": lambda: [GetData(inventory(InvType.WTX, 50_000))],
    "blocks that nobody has": lambda: [GetData(inventory(InvType.WITNESS_BLOCK, 50_000))],
    "too much": lambda: [GetData(inventory(InvType.WTX, 60_000))],
    "not found": lambda: [NotFound(inventory(InvType.WTX, 50_000))],
    "locators": lambda: [GetHeaders(tuple(hashes(101)))] * 100,
    "locators of blocks": lambda: [GetBlocks(tuple(hashes(101)))] * 100,
    "a locator that is too long": lambda: [GetHeaders(tuple(hashes(100_000)))],
    "low work": lambda: [low_work_headers()] * 10,
    "parents that nobody has": orphans,
    "a heavy transaction": lambda: [TxMessage(heavy_transaction())] * 20,
    "transactions of a block that nobody asked for": lambda: (
        [BlockTxn(BlockHash(NULL_HASH), (heavy_transaction(),))] * 5
    ),
    "parts of blocks": lambda: [GetBlockTxn(BlockHash(genesis().hash), tuple(range(0, 60_000, 2)))] * 20,
    "pings": lambda: [Ping(7)] * 1_000,
    "questions for addresses": lambda: [GetAddr()] * 1_000,
    "addresses": lambda: [addresses()] * 20,
    "questions for the pool": lambda: [Mempool()] * 1_000,
    "filters": lambda: [FilterLoad(b"\xff" * 36_000, 50, 0, 1)] * 10,
}


@pytest.fixture
def wire(stack: ApiStack) -> Iterator[WirePeer]:
    """Return a peer of a node that is out of initial download, so that transactions count."""
    stack.result("generatetodescriptor", 1, "raw(51)")
    context = stack.network.context
    peers = PeerManager(lambda: 0)
    handshake = Handshake(context, peers)
    sync = BlockSync(context, peers)
    relay = TransactionRelay(context, peers, handshake.rejects_transactions)
    Inventory(peers, context.clock, sync, relay)
    BloomServing(peers)
    AddressBook(context, peers, handshake, stack.network.bans, [])
    wire = WirePeer(peers, address="9.9.9.9:8333")
    wire.peer.our_services |= ServiceFlags.BLOOM
    wire.shake_hands()
    yield wire
    relay.reception.close()


async def say(wire: WirePeer, said: list[tuple[str, bytes]]) -> None:
    for command, payload in said:
        await wire.peers.process(wire.peer, Received(command, payload, len(payload)))
        await asyncio.sleep(0)


@pytest.mark.parametrize("name", FLOODS)
def test_work_and_answers_follow_the_bytes(wire: WirePeer, name: str) -> None:
    said = [(message.command, message.serialize()) for message in FLOODS[name]()]
    size = sum(len(payload) + 24 for _, payload in said)
    sent: list[int] = []
    wire.peer.write = lambda data: sent.append(len(data))
    with counted_work() as work:
        asyncio.run(say(wire, said))
    assert work.calls <= CALLS_A_BYTE * size + CALLS_A_MESSAGE * len(said)
    assert sum(sent) <= BYTES_A_BYTE * size + BYTES_A_MESSAGE * len(said)


@pytest.mark.parametrize(
    "name", ["transactions that are announced", "blocks that are announced", "blocks that nobody has"]
)
def test_others_have_their_turn(wire: WirePeer, name: str) -> None:
    said = [(message.command, message.serialize()) for message in FLOODS[name]()]
    turns = [0]

    async def flood(work: Work) -> None:
        async def others() -> None:
            while True:
                turns.append(work.calls)
                await asyncio.sleep(0)

        task = asyncio.ensure_future(others())
        await asyncio.sleep(0)
        await say(wire, said)
        task.cancel()

    with counted_work() as work:
        asyncio.run(flood(work))
    assert max(after - before for before, after in pairwise(turns)) <= CALLS_A_TURN


def test_who_does_not_read_is_not_answered(stack: ApiStack) -> None:
    """14 MB of answers are asked for at once: most of them wait, and so does what comes behind the question."""
    context = stack.network.context
    peers = PeerManager(lambda: 0)
    handshake = Handshake(context, peers)
    sync = BlockSync(context, peers)
    relay = TransactionRelay(context, peers, handshake.rejects_transactions)
    Inventory(peers, context.clock, sync, relay)
    question = GetData((Inv(InvType.WITNESS_BLOCK, genesis().hash),) * 50_000)
    near, far = socket.socketpair()
    far.setblocking(False)

    async def ask() -> tuple[int, int]:
        reader, writer = await asyncio.open_connection(sock=near, limit=context.options.stream_limit)
        peer = Peer(0, endpoint_of("9.9.9.9:8333"), ConnectionType.INBOUND, V1Transport(MAGIC), our_services=SERVICES)
        connection = Connection(reader, writer, peer, peers, context)
        peers.add(peer)
        running = asyncio.ensure_future(connection.run())
        taken, pause = 0, 0
        said = b"".join(V1Transport(MAGIC).encode(each.command, each.serialize()) for each in _greeting(question))
        while pause < 20:
            await asyncio.sleep(0.01)
            try:
                taken += far.send(said[taken % len(said) :])
                pause = 0
            except BlockingIOError:
                pause += 1
        waiting = writer.transport.get_write_buffer_size()
        peer.disconnect()
        far.close()
        await running
        return waiting, taken

    waiting, taken = asyncio.run(ask())
    assert waiting <= context.options.max_send_buffer + 1_000
    assert taken < len(question.serialize()) + 2 * context.options.max_receive_buffer


def _greeting(question: GetData) -> list[Message]:
    return [Version(70016, SERVICES, 0, relay=True), Verack(), *[question] * 20]
