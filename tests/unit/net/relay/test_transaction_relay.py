"""Transactions between a node and its peers, without sockets."""

import asyncio

import pytest
from unit.net.relay.conftest import Connect

from clarion.node.mempool.changes import RemovalReason
from clarion.node.net.messages.blocks import TxMessage
from clarion.node.net.messages.handshake import FeeFilter
from clarion.node.net.messages.inventory import GetData, Inv, InvMessage, NotFound
from clarion.node.net.messages.message import Mempool, Message
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import InvType
from clarion.node.net.relay.state import RelayState
from clarion.node.net.relay.transaction_relay import TransactionRelay
from clarion.node.primitives.transaction import Transaction
from helpers.anyone import DESCRIPTOR, Money, made_by, spend
from helpers.api_stack import ApiStack
from helpers.wire_peer import WirePeer


def wtx(*txs: Transaction) -> tuple[Inv, ...]:
    return tuple([Inv(InvType.WTX, tx.wtxid) for tx in txs])


def tick(stack: ApiStack, peers: PeerManager, later_us: int = 0) -> None:
    peers.tick(stack.network.context.clock.now_us() + later_us)


def told(wire: WirePeer, kind: type[Message]) -> list[Message]:
    return [message for message in wire.sent() if isinstance(message, kind)]


def test_an_announced_transaction_is_fetched_and_announced_to_others(
    stack: ApiStack, peers: PeerManager, money: list[Money], connect: Connect
) -> None:
    sender, other, old = connect(), connect(), connect(by_wtxid=False)
    tx = spend([money[0]])
    sender.say(InvMessage(wtx(tx)))
    assert told(sender, GetData) == [GetData(wtx(tx))]
    sender.say(TxMessage(tx))
    tick(stack, peers)
    assert told(sender, InvMessage) == []
    assert told(other, InvMessage) == [InvMessage(wtx(tx))]
    assert told(old, InvMessage) == [InvMessage((Inv(InvType.TX, tx.txid),))]
    assert sender.peer.last_transaction > 0
    other.say(GetData(wtx(tx)))
    (served,) = told(other, TxMessage)
    assert served.serialize() == tx.raw


def test_what_came_after_the_last_announcement_is_a_secret(
    stack: ApiStack, money: list[Money], connect: Connect
) -> None:
    wire = connect(permissions=Permission.NONE)
    tx = spend([money[0]])
    stack.mempool.accept(tx)
    wire.say(GetData(wtx(tx)))
    assert told(wire, NotFound) == [NotFound(wtx(tx))]
    wire.peer.state(RelayState).last_inv_sequence = stack.mempool.pool.sequence
    wire.say(GetData((*wtx(tx), Inv(InvType.TX, tx.txid))))
    first, second = told(wire, TxMessage)
    assert isinstance(first, TxMessage)
    assert isinstance(second, TxMessage)
    assert (first.tx.has_witness, second.tx.has_witness) == (True, False)


def test_an_orphan_comes_in_behind_its_parent(
    stack: ApiStack, peers: PeerManager, money: list[Money], connect: Connect, relay: TransactionRelay
) -> None:
    wire = connect()
    parent = spend([money[0]])
    child = spend([made_by(parent)])
    wire.say(TxMessage(child))
    assert [orphan.announcers for orphan in relay.orphans()] == [[wire.peer.id]]
    tick(stack, peers, 2_000_001)
    (request,) = told(wire, GetData)
    assert request == GetData((Inv(InvType.WITNESS_TX, parent.txid),))
    wire.say(TxMessage(parent))
    assert set(stack.result("getrawmempool")) == {tx.txid[::-1].hex() for tx in (parent, child)}
    assert relay.orphans() == []


def test_another_peers_orphan_comes_in_too(
    stack: ApiStack, money: list[Money], connect: Connect, relay: TransactionRelay
) -> None:
    first, second = connect(), connect()
    parent = spend([money[0]])
    child = spend([made_by(parent)])
    first.say(TxMessage(child))
    second.say(TxMessage(parent))
    assert stack.result("getmempoolinfo")["size"] == 1
    asyncio.run(relay.reception.reconsider_all())
    assert stack.result("getmempoolinfo")["size"] == 2


def test_a_child_pays_for_its_parent(stack: ApiStack, money: list[Money], connect: Connect) -> None:
    wire = connect()
    parent = spend([money[0]], fee_sat=0)
    child = spend([made_by(parent)], fee_sat=10_000)
    wire.say(TxMessage(parent))
    wire.say(TxMessage(child))
    assert stack.result("getmempoolinfo")["size"] == 0
    wire.say(TxMessage(parent))
    assert stack.result("getmempoolinfo")["size"] == 2


def test_what_was_rejected_is_not_asked_for_until_a_block_comes(
    stack: ApiStack, money: list[Money], connect: Connect, relay: TransactionRelay
) -> None:
    wire = connect()
    tx = Transaction(2, spend([money[0]]).inputs, [])
    wire.say(TxMessage(tx), InvMessage(wtx(tx)))
    assert told(wire, GetData) == []
    relay.download.tip_changed()
    wire.say(InvMessage(wtx(tx)))
    assert told(wire, GetData) == [GetData(wtx(tx))]


def test_the_last_blocks_transactions_are_served_and_not_fetched(
    stack: ApiStack, money: list[Money], connect: Connect, relay: TransactionRelay
) -> None:
    wire = connect()
    tx = spend([money[0]])
    stack.mempool.accept(tx)
    stack.mempool.updates.on_connected = relay.block_connected
    stack.result("generatetodescriptor", 1, DESCRIPTOR)
    wire.say(InvMessage(wtx(tx)), GetData(wtx(tx)))
    assert [type(message) for message in wire.sent() if isinstance(message, GetData | TxMessage)] == [TxMessage]
    relay.block_disconnected()
    stack.mempool.pool.remove_recursive(tx, RemovalReason.REORG)
    wire.say(InvMessage(wtx(tx)))
    assert told(wire, GetData) == [GetData(wtx(tx))]


def test_a_fee_filter_spares_the_peer(
    stack: ApiStack, peers: PeerManager, money: list[Money], connect: Connect, relay: TransactionRelay
) -> None:
    wire = connect()
    cheap, dear = spend([money[0]], fee_sat=200), spend([money[1]], fee_sat=20_000)
    wire.say(FeeFilter(10_000))
    for tx in (cheap, dear):
        stack.mempool.accept(tx)
    relay.announce([cheap.txid, dear.txid])
    tick(stack, peers)
    assert told(wire, InvMessage) == [InvMessage(wtx(dear))]
    assert wire.peer.state(RelayState).to_send == set()


def test_the_whole_pool_for_who_may_ask(stack: ApiStack, money: list[Money], connect: Connect) -> None:
    stranger, friend = connect(permissions=Permission.NONE), connect(permissions=Permission.MEMPOOL | Permission.NO_BAN)
    txs = [spend([each]) for each in money[:3]]
    for tx in txs:
        stack.mempool.accept(tx)
    stranger.say(Mempool())
    assert stranger.closed
    friend.say(Mempool())
    (answer,) = told(friend, InvMessage)
    assert isinstance(answer, InvMessage)
    assert set(answer.items) == set(wtx(*txs))


@pytest.mark.parametrize("message", ["inv", "tx"])
def test_who_may_send_no_transactions_is_left(message: str, money: list[Money], connect: Connect) -> None:
    wire = connect(ConnectionType.BLOCK_RELAY, Permission.NONE)
    tx = spend([money[0]])
    wire.say(InvMessage(wtx(tx)) if message == "inv" else TxMessage(tx))
    assert wire.closed


def test_who_wants_no_transactions_is_told_of_none(
    stack: ApiStack, peers: PeerManager, money: list[Money], connect: Connect, relay: TransactionRelay
) -> None:
    wire = connect(wants_txs=False)
    tx = spend([money[0]])
    stack.mempool.accept(tx)
    relay.announce([tx.txid])
    tick(stack, peers)
    wire.say(GetData(wtx(tx)))
    assert not [each for each in wire.sent() if isinstance(each, InvMessage | NotFound | TxMessage)]


def test_own_transactions_are_told_again_until_a_peer_asks(
    stack: ApiStack, peers: PeerManager, money: list[Money], connect: Connect, relay: TransactionRelay
) -> None:
    tx = spend([money[0]])
    stack.result("sendrawtransaction", tx.raw.hex(), 0)
    wire = connect()
    tick(stack, peers)
    assert told(wire, InvMessage) == []
    relay.rebroadcast()
    tick(stack, peers)
    assert told(wire, InvMessage) == [InvMessage(wtx(tx))]
    assert stack.result("getmempoolinfo")["unbroadcastcount"] == 1
    wire.say(GetData(wtx(tx)))
    stack.service.submit(lambda: None).result()
    assert stack.result("getmempoolinfo")["unbroadcastcount"] == 0
