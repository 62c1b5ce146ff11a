"""Disconnecting a block takes back exactly what connecting it changed."""

from collections.abc import Mapping

import pytest

from clarion.node.consensus.connect import ConnectResult, connect_block
from clarion.node.consensus.disconnect import DisconnectDelta, disconnect_block
from clarion.node.errors import BlockFileError
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, hash_from_hex, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_builder import assemble, genesis, make_coinbase
from helpers.positions import Position, chain

HEIGHT = 120
A, B, OTHER = (make_outpoint(bytes((i,)) * 32, i) for i in (1, 2, 3))
BEFORE = {A: Coin(10, b"\x51", 2), B: Coin(20, b"\x52", 5), OTHER: Coin(30, b"", 8)}
FIRST = Transaction(2, [TxIn(A)], [TxOut(4, b"\x51"), TxOut(5, b"\x52"), TxOut(0, b"\x6a")])
SECOND = Transaction(2, [TxIn(make_outpoint(FIRST.txid, 0)), TxIn(B)], [TxOut(6, b"\x53")])


def block() -> Block:
    built = assemble(genesis(), [make_coinbase(HEIGHT), FIRST, SECOND])
    assert built.block is not None
    return built.block


def connected() -> ConnectResult:
    found = block()
    return connect_block(found, Position(chain(HEIGHT), block_hash=found.hash), select_params("regtest"), BEFORE)


def after(result: ConnectResult) -> dict[OutPoint, Coin]:
    coins = BEFORE | dict(result.delta.created)
    for tx in result.delta.block.txs[1:]:
        for txin in tx.inputs:
            del coins[txin.prevout]
    return coins


def apply(delta: DisconnectDelta, coins: Mapping[OutPoint, Coin]) -> dict[OutPoint, Coin]:
    left = {outpoint: coin for outpoint, coin in coins.items() if outpoint not in delta.removed}
    assert len(left) == len(coins) - len(delta.removed)
    return left | dict(delta.restored)


def test_coins_are_what_they_were() -> None:
    result = connected()
    coins = after(result)
    delta = disconnect_block(result.delta.block, result.delta.spent, HEIGHT, current=coins)
    assert apply(delta, coins) == BEFORE
    assert not delta.unclean


def test_coin_that_lived_in_the_block_only_is_not_touched() -> None:
    result = connected()
    delta = disconnect_block(result.delta.block, result.delta.spent, HEIGHT)
    inside = make_outpoint(FIRST.txid, 0)
    assert inside not in delta.removed
    assert inside not in delta.restored
    assert set(delta.restored) == {A, B}


def test_missing_output_is_unclean() -> None:
    result = connected()
    coins = after(result)
    del coins[make_outpoint(SECOND.txid, 0)]
    assert disconnect_block(result.delta.block, result.delta.spent, HEIGHT, current=coins).unclean


def test_other_height_is_unclean() -> None:
    result = connected()
    assert disconnect_block(result.delta.block, result.delta.spent, HEIGHT + 1, current=after(result)).unclean


def test_spent_coin_that_still_exists_is_unclean() -> None:
    result = connected()
    coins = after(result) | {A: BEFORE[A]}
    assert disconnect_block(result.delta.block, result.delta.spent, HEIGHT, current=coins).unclean


def test_overwritten_coinbase_is_excused_in_its_block() -> None:
    found = assemble(genesis(), [make_coinbase(1)]).block
    assert found is not None
    assert disconnect_block(found, [], 91_722, current={}).unclean
    found.header.hash = hash_from_hex("00000000000271a2dc26e7667f8419f2e15416dc6955e5a6c6cdf3f2574dd08e")  # type: ignore[assignment]
    assert not disconnect_block(found, [], 91_722, current={}).unclean


def test_undo_data_of_another_block_is_refused() -> None:
    spent = connected().delta.spent
    with pytest.raises(BlockFileError, match="block and undo data inconsistent"):
        disconnect_block(block(), spent[:1], HEIGHT)
    with pytest.raises(BlockFileError, match="transaction and undo data inconsistent"):
        disconnect_block(block(), [spent[1], spent[0]], HEIGHT)
