"""Fee rules of replacement and their texts."""

from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.policy.rbf import (
    conflict_clusters_fault,
    entries_and_txids_disjoint,
    pays_for_rbf,
    signals_opt_in_rbf,
)
from clarion.node.primitives.ids import Txid, hash_to_hex
from helpers.simple_txs import coin_of, simple_tx

TX = simple_tx([coin_of(1)])
NAME = hash_to_hex(TX.txid)


def test_signal_of_bip125() -> None:
    assert not signals_opt_in_rbf(TX)
    assert signals_opt_in_rbf(simple_tx([coin_of(1)], sequence=0xFFFFFFFD))


def test_replacement_pays_what_was_paid() -> None:
    assert pays_for_rbf(1000, 1000, 100, FeeRate(0), TX.txid) is None
    text = f"rejecting replacement {NAME}, less fees than conflicting txs; 0.00000999 < 0.00001"
    assert pays_for_rbf(1000, 999, 100, FeeRate(0), TX.txid) == text


def test_replacement_pays_for_its_own_relay() -> None:
    # 105 virtual bytes at 0.1 satoshis: 10.5, rounded up.
    assert pays_for_rbf(1000, 1011, 105, FeeRate(100), TX.txid) is None
    text = f"rejecting replacement {NAME}, not enough additional fees to relay; 0.0000001 < 0.00000011"
    assert pays_for_rbf(1000, 1010, 105, FeeRate(100), TX.txid) == text


def test_too_many_clusters() -> None:
    assert conflict_clusters_fault(TX.txid, 100) is None
    assert (
        conflict_clusters_fault(TX.txid, 101)
        == f"rejecting replacement {NAME}; too many conflicting clusters (101 > 100)"
    )


def test_nobody_spends_what_it_replaces() -> None:
    low, high = (Txid(bytes(31) + bytes((number,))) for number in (1, 2))
    assert entries_and_txids_disjoint([low], [high], TX.txid) is None
    text = entries_and_txids_disjoint([high, low], [low, high], TX.txid)
    assert text == f"{NAME} spends conflicting transaction {hash_to_hex(low)}"
