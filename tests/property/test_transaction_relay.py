"""Peers that say anything about a family of transactions: the node keeps its books in order and forgets who leaves."""

import random
from collections.abc import Iterator

import pytest

from clarion.node.net.handshake import Handshake
from clarion.node.net.inventory import Inventory
from clarion.node.net.messages.blocks import TxMessage
from clarion.node.net.messages.handshake import FeeFilter, Version
from clarion.node.net.messages.inventory import GetData, Inv, InvMessage, NotFound
from clarion.node.net.messages.message import Mempool, Message, Verack, WtxidRelay
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import InvType
from clarion.node.net.relay.transaction_relay import TransactionRelay
from clarion.node.net.sync.block_sync import BlockSync
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction
from helpers.anyone import DESCRIPTOR, Money, made_by, spend
from helpers.api_stack import ApiStack
from helpers.wire_peer import SERVICES, WirePeer

STEPS = 150
PERMISSIONS = (Permission.NONE, Permission.NO_BAN, Permission.FORCE_RELAY, Permission.RELAY, Permission.MEMPOOL)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiStack]:
    stack = ApiStack(tmp_path_factory.mktemp("relay")).ready()
    stack.result("generatetodescriptor", 110, DESCRIPTOR)
    yield stack
    stack.close()


def a_coin(stack: ApiStack, seed: int) -> Money:
    height = stack.result("getblockcount")
    block = stack.result("getblock", stack.result("getblockhash", height - 100 - seed % 3), 1)
    stack.result("generatetodescriptor", 3, DESCRIPTOR)
    return Money(make_outpoint(bytes.fromhex(block["tx"][0])[::-1], 0), 50 * 100_000_000)


def family(coin: Money) -> list[Transaction]:
    """Return transactions that depend on or exclude each other; some pay too little."""
    parent = spend([coin], outputs=3, fee_sat=0)
    children = [spend([made_by(parent, index)], outputs=2, fee_sat=index * 3_000) for index in range(3)]
    grandchildren = [spend([made_by(child), made_by(child, 1)], fee_sat=500) for child in children]
    broken = Transaction(2, grandchildren[0].inputs, [])
    rival = spend([coin], fee_sat=20_000)
    return [parent, *children, *grandchildren, broken, rival]


class Party:
    """A node's relay with peers that come, talk and go."""

    def __init__(self, stack: ApiStack, seed: int) -> None:
        self.chance = random.Random(seed)
        context = stack.network.context
        self.now_us = context.clock.now_us()
        self.peers = PeerManager(context.clock.now_us)
        handshake = Handshake(context, self.peers)
        self.relay = TransactionRelay(context, self.peers, handshake.rejects_transactions)
        Inventory(self.peers, context.clock, BlockSync(context, self.peers), self.relay)
        self.txs = family(a_coin(stack, seed))
        self.wires: list[WirePeer] = []

    def hashes(self) -> tuple[Inv, ...]:
        chosen = self.chance.choices(self.txs, k=self.chance.randrange(1, 5))
        kinds = (InvType.TX, InvType.WTX, InvType.WITNESS_TX)
        return tuple(
            [Inv(kind := self.chance.choice(kinds), tx.wtxid if kind == InvType.WTX else tx.txid) for tx in chosen]
        )

    def saying(self) -> Message:
        kind = self.chance.randrange(8)
        if kind < 3:
            return TxMessage(self.chance.choice(self.txs))
        if kind < 5:
            return InvMessage(self.hashes())
        if kind == 5:
            return GetData(self.hashes())
        return self.chance.choice([NotFound(self.hashes()), Mempool(), FeeFilter(self.chance.randrange(3000))])

    def come(self) -> None:
        kinds = [ConnectionType.INBOUND, ConnectionType.OUTBOUND_FULL_RELAY, ConnectionType.BLOCK_RELAY]
        wire = WirePeer(self.peers, self.chance.choice(kinds), permissions=self.chance.choice(PERMISSIONS))
        wire.say(Version(70016, SERVICES, 0, relay=self.chance.random() < 0.8))
        if self.chance.random() < 0.7:
            wire.say(WtxidRelay())
        wire.say(Verack())
        self.wires.append(wire)

    def step(self) -> None:
        self.wires = [wire for wire in self.wires if not wire.closed]
        what = self.chance.random()
        if what < 0.1 or not self.wires:
            self.come()
        elif what < 0.15:
            self.peers.remove(self.wires.pop(self.chance.randrange(len(self.wires))).peer)
        elif what < 0.35:
            self.now_us += self.chance.randrange(20_000_000)
            self.peers.tick(self.now_us)
        elif what < 0.4:
            self.relay.download.tip_changed()
        else:
            self.chance.choice(self.wires).say(self.saying())


@pytest.mark.parametrize("seed", range(12))
def test_whatever_peers_say(stack: ApiStack, seed: int) -> None:
    party = Party(stack, seed)
    for _ in range(STEPS):
        party.step()
        unknown = {orphan.tx.txid for orphan in party.relay.orphans()}
        assert not unknown & set(stack.mempool.pool.entries)
    for peer in list(party.peers.peers.values()):
        party.peers.remove(peer)
    download = party.relay.download
    assert len(download.orphans) == len(download.requests) == download.orphans.total_usage == 0
    party.relay.reception.close()
    stack.result("generatetodescriptor", 1, DESCRIPTOR)
