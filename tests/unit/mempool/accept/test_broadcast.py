"""Transactions that clients have the node broadcast."""

import pytest

from clarion.node.mempool.accept.broadcast import BroadcastFailed, TransactionError, broadcast_transaction
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn
from helpers.accepting import WITNESS, Accepting


def failure(world: Accepting, tx: Transaction, max_fee: int | None = None) -> tuple[TransactionError, str]:
    with pytest.raises(BroadcastFailed) as caught:
        broadcast_transaction(world.acceptor, tx, max_fee)
    return caught.value.error, str(caught.value)


def test_peers_must_hear_of_a_broadcast_transaction(world: Accepting) -> None:
    tx = world.spend(world.coin())
    broadcast_transaction(world.acceptor, tx, 10_000)
    assert world.pool.unbroadcast == {tx.txid}
    other = world.put(world.spend(world.coin(1)))
    broadcast_transaction(world.acceptor, other, None)
    assert world.pool.unbroadcast == {tx.txid}


def test_another_witness_of_what_is_there_is_no_error(world: Accepting) -> None:
    tx = world.put(world.spend(world.coin()))
    twin = Transaction(2, [TxIn(world.coin(), sequence=0xFFFFFFFD, witness=(b"\x01", *WITNESS))], tx.outputs)
    broadcast_transaction(world.acceptor, twin, None)
    assert next(iter(world.pool.entries.values())).wtxid == tx.wtxid


def test_a_fee_above_the_senders_limit(world: Accepting) -> None:
    tx = world.spend(world.coin(), fee=10_001)
    assert failure(world, tx, 10_000) == (
        TransactionError.MAX_FEE_EXCEEDED,
        "Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)",
    )
    assert not world.pool.entries


def test_a_script_that_fails_is_told_before_the_fee(world: Accepting) -> None:
    error, text = failure(world, world.spend(world.coin(), fee=10_001, witness=(b"\x52",)), 10_000)
    assert error is TransactionError.MEMPOOL_REJECTED
    assert text.startswith("mempool-script-verify-flag-failed (Witness program hash mismatch), input 0 of ")


def test_outputs_that_are_in_the_chain(world: Accepting) -> None:
    assert failure(world, world.blocks[1].txs[0]) == (
        TransactionError.ALREADY_IN_UTXO_SET,
        "Transaction outputs already in utxo set",
    )


def test_missing_inputs_and_refusals(world: Accepting) -> None:
    tx = world.spend(world.coin())
    lost = Transaction(2, [TxIn(make_outpoint(bytes(31) + b"\1", 0), witness=WITNESS)], tx.outputs)
    assert failure(world, lost) == (TransactionError.MISSING_INPUTS, "bad-txns-inputs-missingorspent")
    assert failure(world, world.spend(world.coin(), version=4)) == (TransactionError.MEMPOOL_REJECTED, "version")
