"""Connecting a block: the rules that need coins, their order, and what changes."""

from collections.abc import Sequence

import pytest

from clarion.node.consensus.connect import (
    PART,
    ConnectResult,
    ScriptJob,
    connect_block,
    prevouts_to_fetch,
    script_failure,
)
from clarion.node.errors import BlockInvalid
from clarion.node.params.chain_params import ChainParams, select_params
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.errors import ScriptError
from helpers.chain_builder import assemble, genesis, make_coinbase
from helpers.positions import Position, chain

COIN = 100_000_000
MAX_MONEY = 21_000_000 * COIN
SUBSIDY = 50 * COIN
MATURITY = 100
HEIGHT = 120
REGTEST = select_params("regtest")
A, B, C = (make_outpoint(bytes((i,)) * 32, i) for i in (1, 2, 3))


def coin(value: int = COIN, height: int = 1, *, coinbase: bool = False, script: bytes = b"\x51") -> Coin:
    return Coin(value, script, height * 2 + coinbase)


def spend(*prevouts: OutPoint, value: int = COIN, sequence: int = 0xFFFFFFFF, script: bytes = b"\x51") -> Transaction:
    return Transaction(2, [TxIn(prevout, sequence=sequence) for prevout in prevouts], [TxOut(value, script)])


def connect(
    txs: Sequence[Transaction], coins: dict[OutPoint, Coin], *, claim: int = SUBSIDY, params: ChainParams = REGTEST
) -> ConnectResult:
    built = assemble(genesis(), [make_coinbase(HEIGHT, value=claim), *txs])
    assert built.block is not None
    return connect_block(built.block, Position(chain(HEIGHT), block_hash=built.hash), params, coins)


def refusal(txs: Sequence[Transaction], coins: dict[OutPoint, Coin], **how: int) -> str:
    with pytest.raises(BlockInvalid) as caught:
        connect(txs, coins, **how)  # type: ignore[arg-type]
    assert caught.value.permanent
    return str(caught.value)


def hex_of(tx: Transaction) -> str:
    return tx.txid[::-1].hex()


def test_delta_of_a_block() -> None:
    first = spend(A, B, value=COIN)
    second = spend(make_outpoint(first.txid, 0), C, value=COIN + 5)
    coins = {A: coin(), B: coin(7), C: coin(9)}
    result = connect([first, second], dict(coins), claim=SUBSIDY + 11)
    delta = result.delta
    assert (delta.height, delta.fees, result.input_count) == (HEIGHT, 11, 5)
    assert list(delta.created) == [make_outpoint(tx.txid, 0) for tx in delta.block.txs]
    assert delta.spent == [[coins[A], coins[B]], [coin(COIN, HEIGHT), coins[C]]]
    assert [c.is_coinbase for c in delta.created.values()] == [True, False, False]


def test_script_jobs_cover_all_but_the_coinbase() -> None:
    first, second = spend(A), spend(B)
    result = connect([first, second], {A: coin(), B: coin()})
    assert [(job.tx, job.spent_outputs, job.tx_index) for job in result.script_jobs] == [
        (first, [coin()], 1),
        (second, [coin()], 2),
    ]


def test_script_jobs_are_handed_on_in_parts_while_the_block_is_connected() -> None:
    coins = {make_outpoint(bytes(32), index): coin() for index in range(2 * PART + 1)}
    txs = [spend(outpoint) for outpoint in coins]
    parts: list[list[ScriptJob]] = []
    built = assemble(genesis(), [make_coinbase(HEIGHT), *txs])
    assert built.block is not None
    position = Position(chain(HEIGHT), block_hash=built.hash)
    result = connect_block(built.block, position, REGTEST, coins, hand_on=lambda jobs, flags: parts.append(list(jobs)))
    assert [len(part) for part in parts] == [PART, PART, 1]
    assert [job for part in parts for job in part] == result.script_jobs


def test_given_coins_are_left_alone() -> None:
    coins = {A: coin()}
    connect([spend(A)], coins)
    assert coins == {A: coin()}


@pytest.mark.parametrize(
    ("script", "created"),
    [(b"", True), (b"\x6a", False), (b"\x51\x6a", True), (bytes(10_000), True), (bytes(10_001), False)],
    ids=["empty", "return", "return-later", "longest", "too-long"],
)
def test_unspendable_outputs_are_no_coins(script: bytes, created: bool) -> None:
    tx = spend(A, script=script)
    assert (make_outpoint(tx.txid, 0) in connect([tx], {A: coin()}).delta.created) is created


def test_outputs_behind_the_256th_have_their_index() -> None:
    tx = Transaction(2, [TxIn(A)], [TxOut(1, b"\x51")] * 300)
    created = connect([tx], {A: coin()}).delta.created
    assert all(make_outpoint(tx.txid, index) in created for index in (0, 255, 256, 299))


def test_prevouts_of_earlier_transactions_need_no_fetch() -> None:
    first = spend(A)
    second = spend(make_outpoint(first.txid, 0), B)
    forward = spend(make_outpoint(second.txid, 0))
    block = assemble(genesis(), [make_coinbase(1), first, second, spend(A)]).block
    backwards = assemble(genesis(), [make_coinbase(1), forward, first, second]).block
    assert block is not None
    assert backwards is not None
    assert prevouts_to_fetch(block) == [A, B, A]
    assert prevouts_to_fetch(backwards) == [make_outpoint(second.txid, 0), A, B]


def test_missing_coin() -> None:
    tx = spend(A)
    expected = f"bad-txns-inputs-missingorspent, CheckTxInputs: inputs missing/spent in transaction {hex_of(tx)}"
    assert refusal([tx], {}) == expected


def test_coin_spent_twice() -> None:
    assert refusal([spend(A), spend(A, value=1)], {A: coin()}).startswith("bad-txns-inputs-missingorspent")


def test_output_of_a_later_transaction_does_not_exist_yet() -> None:
    first = spend(A)
    second = spend(make_outpoint(first.txid, 0))
    assert refusal([second, first], {A: coin()}).startswith("bad-txns-inputs-missingorspent")


def test_maturity() -> None:
    tx = spend(A)
    connect([tx], {A: coin(height=HEIGHT - MATURITY, coinbase=True)})
    assert refusal([tx], {A: coin(height=HEIGHT - MATURITY + 1, coinbase=True)}) == (
        f"bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth 99 in transaction {hex_of(tx)}"
    )


def test_values() -> None:
    tx = spend(A, value=COIN + 1)
    expected = f"bad-txns-in-belowout, value in (1.00) < value out (1.00000001) in transaction {hex_of(tx)}"
    assert refusal([tx], {A: coin()}) == expected
    # No detail of its own: the reference still appends where it happened.
    assert refusal([tx], {A: coin(-1)}) == f"bad-txns-inputvalues-outofrange,  in transaction {hex_of(tx)}"


def test_sum_of_fees_is_limited() -> None:
    txs = [spend(A, value=0), spend(B, value=0)]
    coins = {A: coin(MAX_MONEY), B: coin(1)}
    expected = "bad-txns-accumulated-fee-outofrange, accumulated fee in the block out of range"
    assert refusal(txs, coins) == expected


def test_sequence_locks() -> None:
    tx = spend(A, sequence=20)
    connect([tx], {A: coin(height=HEIGHT - 20)})
    expected = f"bad-txns-nonfinal, contains a non-BIP68-final transaction {hex_of(tx)}"
    assert refusal([tx], {A: coin(height=HEIGHT - 19)}) == expected
    later = select_params("regtest", activation_heights={"csv": HEIGHT + 1})
    connect([tx], {A: coin(height=HEIGHT - 19)}, params=later)


def test_sigop_cost_is_limited() -> None:
    redeem = b"\xac" * 500
    p2sh = coin(script=b"\xa9\x14" + bytes(20) + b"\x87")
    push = b"\x4d\xf4\x01" + redeem
    coins = {make_outpoint(bytes((i,)) * 32, 0): p2sh for i in range(1, 42)}
    tx = Transaction(2, [TxIn(prevout, push) for prevout in list(coins)[:40]], [TxOut(1, b"\x51")])
    assert connect([tx], coins).sigop_cost == 40 * 500 * 4 == 80_000
    tx = Transaction(2, [TxIn(prevout, push) for prevout in coins], [TxOut(1, b"\x51")])
    assert refusal([tx], coins) == "bad-blk-sigops, too many sigops"


def test_coinbase_claims_subsidy_and_fees() -> None:
    tx = spend(A, value=COIN - 7)
    connect([tx], {A: coin()}, claim=SUBSIDY + 7)
    connect([tx], {A: coin()}, claim=0)
    expected = f"bad-cb-amount, coinbase pays too much (actual={SUBSIDY + 8} vs limit={SUBSIDY + 7})"
    assert refusal([tx], {A: coin()}, claim=SUBSIDY + 8) == expected


def test_transactions_are_judged_in_order_and_before_the_coinbase() -> None:
    missing, below = spend(A), spend(B, value=2 * COIN)
    coins = {B: coin()}
    assert refusal([missing, below], coins, claim=MAX_MONEY).startswith("bad-txns-inputs-missingorspent")
    assert refusal([below, missing], coins, claim=MAX_MONEY).startswith("bad-txns-in-belowout")


def test_genesis_changes_nothing() -> None:
    result = connect_block(REGTEST.genesis, Position(block_hash=REGTEST.genesis.hash), REGTEST, {})
    assert (dict(result.delta.created), list(result.delta.spent), result.script_jobs) == ({}, [], [])


def test_script_failure_is_worded_as_the_reference_does() -> None:
    tx = Transaction(2, [TxIn(A), TxIn(C, witness=(b"\x01",))], [TxOut(1, b"")])
    error = script_failure(ScriptError.EVAL_FALSE, 1, tx)
    assert str(error) == (
        "block-script-verify-flag-failed (Script evaluated without error but finished with a false/empty top stack "
        f"element), input 1 of {hex_of(tx)} (wtxid {tx.wtxid[::-1].hex()}), spending {'03' * 32}:3"
    )


def test_block_with_transactions_only_of_its_own() -> None:
    block = assemble(genesis(), [make_coinbase(1)]).block
    assert isinstance(block, Block)
    assert prevouts_to_fetch(block) == []
