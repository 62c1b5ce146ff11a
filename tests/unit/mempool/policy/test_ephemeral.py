"""Ephemeral dust: no fee, and children that take all of it."""

from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.policy.ephemeral import check_ephemeral_spends, pre_check_ephemeral_tx
from clarion.node.primitives.ids import Txid, hash_to_hex
from clarion.node.primitives.transaction import Transaction
from helpers.simple_txs import coin_of, output_of, simple_tx

RATE = FeeRate(3000)
DUSTY = simple_tx([coin_of(1)], [10_000, 0], version=3)
CLEAN = simple_tx([coin_of(2)], [10_000, 20_000], version=3)


def nothing(txid: Txid) -> Transaction | None:
    """Stand for an empty pool."""
    return None


def test_dust_demands_that_nothing_is_paid() -> None:
    text = "tx with dust output must be 0-fee"
    assert pre_check_ephemeral_tx(DUSTY, RATE, 0, 0) is None
    assert pre_check_ephemeral_tx(DUSTY, RATE, 1, 0) == text
    assert pre_check_ephemeral_tx(DUSTY, RATE, 0, 1) == text
    assert pre_check_ephemeral_tx(CLEAN, RATE, 1000, 1000) is None


def test_a_child_takes_the_dust() -> None:
    sweep = simple_tx([output_of(DUSTY), output_of(DUSTY, 1)], version=3)
    only_dust = simple_tx([output_of(DUSTY, 1)], version=3)
    assert check_ephemeral_spends([DUSTY, sweep], RATE, nothing) is None
    assert check_ephemeral_spends([DUSTY, only_dust], RATE, nothing) is None
    assert check_ephemeral_spends([DUSTY], RATE, nothing) is None


def test_the_child_that_leaves_dust_is_named() -> None:
    greedy = simple_tx([output_of(DUSTY), output_of(CLEAN)], version=3, witness=(b"\x01",))
    fault = check_ephemeral_spends([DUSTY, CLEAN, greedy], RATE, nothing)
    assert fault is not None
    assert fault.wtxid == greedy.wtxid
    names = f"{hash_to_hex(greedy.txid)} (wtxid={hash_to_hex(greedy.wtxid)})"
    assert fault.debug == f"tx {names} did not spend parent's ephemeral dust"


def test_parents_are_found_in_the_pool_too() -> None:
    child = simple_tx([output_of(DUSTY)], version=3)
    pool = {DUSTY.txid: DUSTY}
    assert check_ephemeral_spends([child], RATE, nothing) is None
    assert check_ephemeral_spends([child], RATE, pool.get) is not None
    assert check_ephemeral_spends([child], FeeRate(0), pool.get) is None
