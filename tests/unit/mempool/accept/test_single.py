"""One transaction offered by itself: what lets it in and why it is refused."""

from collections.abc import Callable

import pytest

from clarion.node.mempool.accept.rejection import TxRejection
from clarion.node.mempool.accept.result import ResultKind
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.options import MempoolOptions
from clarion.node.primitives.ids import NULL_OUTPOINT, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.accepting import ANYONE, MATURE, WITNESS, Accepting, out

MakeWorld = Callable[[MempoolOptions], Accepting]


def test_a_good_transaction_comes_in_and_is_told(world: Accepting) -> None:
    tx = world.spend(world.coin(), fee=1_000)
    result = world.offer(tx)
    assert result.kind is ResultKind.VALID
    assert (result.vsize, result.base_fee_sat, result.wtxids_fee_calculations) == (tx.vsize, 1_000, [tx.wtxid])
    assert result.effective_feerate == FeeRate(1_000, tx.vsize)
    (added,) = world.listener.heard
    assert (added.entry.tx, added.sequence, added.spent[0].value) == (tx, 1, 50 * 10**8)


def test_a_test_changes_nothing(world: Accepting) -> None:
    tx = world.spend(world.coin())
    assert world.offer(tx, test=True).valid
    assert (len(world.pool), world.pool.sequence, world.listener.heard) == (0, 1, [])
    assert world.offer(tx).valid
    assert world.scripts.runs == 1


def no_inputs(world: Accepting) -> Transaction:
    return Transaction(2, [], [TxOut(1, ANYONE)])


def coinbase(world: Accepting) -> Transaction:
    return Transaction(2, [TxIn(NULL_OUTPOINT, b"\x01\x01")], [TxOut(1, ANYONE)])


def version_four(world: Accepting) -> Transaction:
    return world.spend(world.coin(), version=4)


def small(world: Accepting) -> Transaction:
    return Transaction(2, [TxIn(world.coin(), witness=WITNESS)], [TxOut(0, b"\x6a" + b"\x00" * 2)])


def locked(world: Accepting) -> Transaction:
    return world.spend(world.coin(), lock_time=100 + MATURE, sequence=1)


def locked_by_sequence(world: Accepting) -> Transaction:
    return world.spend(world.coinbase(MATURE), sequence=101)


def missing(world: Accepting) -> Transaction:
    return Transaction(2, [TxIn(make_outpoint(bytes(31) + b"\1", 0), witness=WITNESS)], [TxOut(1_000, ANYONE)])


def confirmed(world: Accepting) -> Transaction:
    return world.blocks[1].txs[0]


def immature(world: Accepting) -> Transaction:
    return world.spend(world.coinbase(MATURE + 1))


def too_much_out(world: Accepting) -> Transaction:
    return world.spend(world.coin(), fee=-1)


def cheap(world: Accepting) -> Transaction:
    return world.spend(world.coin(), fee=9)


def wrong_witness(world: Accepting) -> Transaction:
    return world.spend(world.coin(), witness=(b"\x52",))


def stripped(world: Accepting) -> Transaction:
    return world.spend(world.coin(), witness=())


def fat_witness(world: Accepting) -> Transaction:
    return world.spend(world.coin(), witness=(bytes(81), *WITNESS))


def dusty(world: Accepting) -> Transaction:
    return world.spend(world.coin(), outputs=[TxOut(1, ANYONE)])


@pytest.mark.parametrize(
    ("make", "rejection", "text"),
    [
        (no_inputs, TxRejection.TX_CONSENSUS, "bad-txns-vin-empty"),
        (coinbase, TxRejection.TX_CONSENSUS, "coinbase"),
        (version_four, TxRejection.TX_NOT_STANDARD, "version"),
        (small, TxRejection.TX_NOT_STANDARD, "tx-size-small"),
        (locked, TxRejection.TX_PREMATURE_SPEND, "non-final"),
        (locked_by_sequence, TxRejection.TX_PREMATURE_SPEND, "non-BIP68-final"),
        (missing, TxRejection.TX_MISSING_INPUTS, "bad-txns-inputs-missingorspent"),
        (
            immature,
            TxRejection.TX_PREMATURE_SPEND,
            "bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth 99",
        ),
        (
            too_much_out,
            TxRejection.TX_CONSENSUS,
            "bad-txns-in-belowout, value in (50.00) < value out (50.00000001)",
        ),
        (fat_witness, TxRejection.TX_WITNESS_MUTATED, "bad-witness-nonstandard"),
        (dusty, TxRejection.TX_NOT_STANDARD, "dust, tx with dust output must be 0-fee"),
        (cheap, TxRejection.TX_RECONSIDERABLE, "min relay fee not met, 9 < 10"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_refused(world: Accepting, make: Callable[[Accepting], Transaction], rejection: TxRejection, text: str) -> None:
    error = world.offer(make(world)).error
    assert error is not None
    assert (error.rejection, str(error)) == (rejection, text)
    assert not world.pool.entries
    assert world.scripts.runs == 0
    assert not world.pool.graph.have_staging


@pytest.mark.parametrize(
    ("make", "rejection", "text"),
    [
        (wrong_witness, TxRejection.TX_NOT_STANDARD, "Witness program hash mismatch"),
        (stripped, TxRejection.TX_WITNESS_STRIPPED, "Witness program was passed an empty witness"),
    ],
)
def test_refused_for_its_scripts(
    world: Accepting, make: Callable[[Accepting], Transaction], rejection: TxRejection, text: str
) -> None:
    tx = make(world)
    error = world.offer(tx).error
    assert error is not None
    assert (error.rejection, error.reject_reason) == (rejection, f"mempool-script-verify-flag-failed ({text})")
    spent = f"{world.coin()[31::-1].hex()}:0"
    assert error.debug == f"input 0 of {tx.txid[::-1].hex()} (wtxid {tx.wtxid[::-1].hex()}), spending {spent}"


def test_a_transaction_that_is_in_the_pool_already(world: Accepting) -> None:
    tx = world.put(world.spend(world.coin()))
    assert world.reason(tx) == "txn-already-in-mempool"
    other = Transaction(2, [TxIn(world.coin(), sequence=0xFFFFFFFD, witness=(b"\x01", *WITNESS))], tx.outputs)
    assert other.txid == tx.txid
    assert world.reason(other) == "txn-same-nonwitness-data-in-mempool"


def test_a_transaction_of_the_chain_is_known(make_world: MakeWorld) -> None:
    world = make_world(MempoolOptions(require_standard=False))
    tx = world.spend(world.coin())
    confirmed_tx = world.note(world.blocks[1].txs[0])
    assert world.reason(confirmed_tx) == "coinbase"
    assert world.reason(tx) is None


def test_a_fee_that_is_too_low_is_told_with_its_rate(world: Accepting) -> None:
    tx = cheap(world)
    result = world.offer(tx)
    assert result.effective_feerate == FeeRate(9, tx.vsize)
    assert result.wtxids_fee_calculations == [tx.wtxid]
    world.pool.prioritise(tx.txid, 1)
    assert world.offer(tx).valid


def test_a_negative_fee_is_too_low_without_any_limit(make_world: MakeWorld) -> None:
    world = make_world(MempoolOptions(min_relay_feerate=FeeRate(0)))
    tx = world.spend(world.coin(), fee=0)
    world.pool.prioritise(tx.txid, -1)
    assert world.reason(tx) == "min relay fee not met, -1 < 0"
    world.pool.prioritise(tx.txid, 1)
    assert world.reason(tx) is None


def test_a_child_spends_its_parent_in_the_pool(world: Accepting) -> None:
    parent = world.put(world.spend(world.coin(), outputs=2))
    child = world.put(world.spend(out(parent), out(parent, 1)))
    entry = world.pool.entries[child.txid]
    assert [each.tx for each in world.pool.parents(entry)] == [parent]
    assert not entry.spends_coinbase
    assert world.reason(Transaction(2, [TxIn(out(parent, 2))], child.outputs)) == "bad-txns-inputs-missingorspent"


def test_a_cluster_must_not_grow_too_large(make_world: MakeWorld) -> None:
    from clarion.node.mempool.options import MempoolLimits

    world = make_world(MempoolOptions(limits=MempoolLimits(cluster_count=2)))
    parent = world.put(world.spend(world.coin()))
    child = world.put(world.spend(out(parent)))
    assert world.reason(world.spend(out(child))) == "too-large-cluster"
    assert len(world.pool) == 2


def test_a_reorganisation_brings_back_what_pays_nothing(world: Accepting) -> None:
    tx = world.spend(world.coin(), fee=0)
    assert world.acceptor.accept_now(tx, accept_time=7, bypass_limits=True).valid
    entry = world.pool.entries[tx.txid]
    assert (entry.sequence, entry.time) == (0, 7)
    (added,) = world.listener.heard
    assert added.limits_bypassed


def test_a_full_pool_refuses_the_cheapest(make_world: MakeWorld) -> None:
    world = make_world(MempoolOptions(max_size_bytes=1))
    tx = world.spend(world.coin())
    error = world.offer(tx).error
    assert error is not None
    assert (error.rejection, str(error)) == (TxRejection.TX_RECONSIDERABLE, "mempool full")
    # It came in and left again without anybody hearing that it had come.
    assert [(gone, reason) for gone, reason in world.listener.removed()] == [(tx, "sizelimit")]
    assert len(world.listener.heard) == 1
