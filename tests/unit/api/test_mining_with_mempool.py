"""Mining methods with transactions that wait in the mempool."""

from typing import Any

import pytest

from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.accepting import ANYONE, WITNESS
from helpers.api_stack import ApiStack

RULES = {"rules": ["segwit"]}
FEE = 10_000
TO_ANYONE = f"raw({ANYONE.hex()})"


@pytest.fixture
def stack(own_stack: ApiStack) -> ApiStack:
    """Return an API over 102 blocks: two coinbases can be spent."""
    own_stack.result("generatetodescriptor", 102, TO_ANYONE)
    return own_stack


def spend(parent: Transaction, *, fee: int = FEE) -> Transaction:
    """Return a transaction that spends the first output of another one."""
    value = parent.outputs[0].value - fee
    txin = TxIn(make_outpoint(parent.txid, 0), witness=WITNESS)
    return Transaction(2, [txin], [TxOut(value, ANYONE)])


def coinbase(stack: ApiStack, height: int) -> Transaction:
    block = stack.result("getblock", stack.result("getblockhash", height), 2)
    return Transaction.parse(bytes.fromhex(block["tx"][0]["hex"]))


def shown(tx: Transaction) -> str:
    return tx.txid[::-1].hex()


def test_template_with_transactions(stack: ApiStack) -> None:
    parent = spend(coinbase(stack, 1))
    child = spend(parent, fee=2 * FEE)
    stack.result("sendrawtransaction", parent.raw.hex())
    stack.result("sendrawtransaction", child.raw.hex())
    template = stack.result("getblocktemplate", RULES)
    assert template["coinbasevalue"] == 50_00000000 + 3 * FEE
    common: dict[str, Any] = {"sigops": 0, "weight": parent.weight}
    assert template["transactions"] == [
        {
            "data": tx.raw.hex(),
            "txid": shown(tx),
            "hash": tx.wtxid[::-1].hex(),
            "depends": depends,
            "fee": fee,
            **common,
        }
        for tx, depends, fee in ((parent, [], FEE), (child, [1], 2 * FEE))
    ]
    info = stack.result("getmininginfo")
    assert (info["pooledtx"], info["currentblocktx"]) == (2, 2)
    assert info["currentblockweight"] == 8000 + 2 * parent.weight


def test_generate_takes_what_is_in_the_pool(stack: ApiStack) -> None:
    txs = [spend(coinbase(stack, height)) for height in (1, 2)]
    for tx in txs:
        stack.result("sendrawtransaction", tx.raw.hex())
    (block_hash,) = stack.result("generatetodescriptor", 1, TO_ANYONE)
    block = stack.result("getblock", block_hash, 2)
    assert {tx["txid"] for tx in block["tx"][1:]} == {shown(tx) for tx in txs}
    assert block["tx"][0]["vout"][0]["value"] * 10**8 == 50_00000000 + 2 * FEE
    assert stack.result("getmininginfo")["pooledtx"] == 0


def test_generateblock_by_txid_and_by_bytes(stack: ApiStack) -> None:
    waiting, own = (spend(coinbase(stack, height)) for height in (1, 2))
    stack.result("sendrawtransaction", waiting.raw.hex())
    answer = stack.result("generateblock", TO_ANYONE, [own.raw.hex(), shown(waiting)])
    block = stack.result("getblock", answer["hash"], 2)
    assert [tx["txid"] for tx in block["tx"][1:]] == [shown(own), shown(waiting)]
    assert block["tx"][0]["vout"][0]["value"] * 10**8 == 50_00000000
    assert stack.error("generateblock", TO_ANYONE, [shown(waiting)]) == (
        -5,
        f"Transaction {shown(waiting)} not in mempool.",
    )


def test_generateblock_checks_its_transactions(stack: ApiStack) -> None:
    parent = spend(coinbase(stack, 1))
    child = spend(parent)
    code, message = stack.error("generateblock", TO_ANYONE, [child.raw.hex(), parent.raw.hex()])
    assert code == -25
    assert message.startswith("TestBlockValidity failed: bad-txns-inputs-missingorspent")


def test_a_long_poll_ends_with_new_transactions(stack: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.api.rpc.block_template.FIRST_PATIENCE_S", 0.05)
    monkeypatch.setattr("clarion.api.rpc.block_template.NEXT_PATIENCE_S", 0.05)
    template = stack.result("getblocktemplate", RULES)
    stack.result("sendrawtransaction", spend(coinbase(stack, 1)).raw.hex())
    answer = stack.result("getblocktemplate", {**RULES, "longpollid": template["longpollid"]})
    # The template itself is kept for five seconds.
    assert answer["longpollid"] == template["longpollid"]
    stack.node.clock.set_mock(stack.node.clock.now() + 6)
    answer = stack.result("getblocktemplate", {**RULES, "longpollid": template["longpollid"]})
    assert answer["longpollid"] != template["longpollid"]
    assert len(answer["transactions"]) == 1
