"""The way of a peer's transaction: permissions, and what else may happen while it is judged."""

import logging

import pytest
from unit.net.relay.conftest import Connect

from clarion.node.mempool.accept.result import AcceptResult
from clarion.node.net.messages.blocks import TxMessage
from clarion.node.net.messages.inventory import InvMessage
from clarion.node.net.permissions import Permission
from clarion.node.net.relay.state import RelayState
from clarion.node.net.relay.transaction_relay import TransactionRelay
from clarion.node.primitives.transaction import Transaction, TxIn
from helpers.anyone import Money, made_by, spend
from helpers.api_stack import ApiStack


def test_a_gateway_tells_again_what_it_knows(
    stack: ApiStack, money: list[Money], connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "clarion.net")
    inner, outer = connect(permissions=Permission.FORCE_RELAY), connect(permissions=Permission.NONE)
    known, rejected = spend([money[0]]), Transaction(2, spend([money[1]]).inputs, [])
    stack.mempool.accept(known)
    inner.say(TxMessage(known), TxMessage(rejected), TxMessage(rejected))
    assert outer.peer.state(RelayState).to_send == {known.wtxid}
    assert f"Force relaying tx {known.txid[::-1].hex()}" in caplog.text
    assert f"Not relaying non-mempool transaction {rejected.txid[::-1].hex()}" in caplog.text


def test_a_parent_that_comes_meanwhile_makes_no_orphan(
    stack: ApiStack,
    money: list[Money],
    connect: Connect,
    relay: TransactionRelay,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = connect()
    parent = spend([money[0]])
    child = spend([made_by(parent)])
    accept = stack.mempool.accept

    def accept_late(tx: Transaction) -> AcceptResult:
        result = accept(tx)
        accept(parent)
        return result

    monkeypatch.setattr(stack.mempool, "accept", accept_late)
    wire.say(TxMessage(child))
    assert stack.result("getmempoolinfo")["size"] == 2
    assert relay.orphans() == []


def test_rejected_and_replaced_ones_are_kept_for_compact_blocks(
    money: list[Money], connect: Connect, relay: TransactionRelay
) -> None:
    kept: list[Transaction] = []
    relay.reception.keep_for_compact_blocks = kept.append
    wire = connect()
    cheap, dear = spend([money[0]]), spend([money[0]], fee_sat=10_000)
    empty = Transaction(2, spend([money[1]]).inputs, [])
    stripped = Transaction(2, [TxIn(money[2].outpoint)], spend([money[2]]).outputs)
    wire.say(*map(TxMessage, (cheap, dear, empty, stripped)))
    assert [tx.wtxid for tx in kept] == [cheap.wtxid, empty.wtxid]


def test_in_initial_download_nothing_is_taken(stack: ApiStack, relay: TransactionRelay, connect: Connect) -> None:
    wire = connect()
    stack.service.submit(setattr, stack.node.manager.state, "initial_download", True).result()
    tx = spend([Money(bytes(36), 1000)])  # type: ignore[arg-type]
    wire.say(TxMessage(tx), InvMessage(()))
    assert relay.orphans() == []
    assert not wire.closed
