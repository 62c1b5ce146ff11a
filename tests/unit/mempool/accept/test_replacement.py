"""A transaction that takes the place of others, and the TRUC sibling that must make room."""

import pytest

from clarion.node.mempool.accept.rejection import TxRejection
from clarion.node.mempool.policy import rbf
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import TxOut
from helpers.accepting import ANYONE, Accepting, out


def test_what_pays_more_replaces_a_transaction_with_its_descendants(world: Accepting) -> None:
    old = world.put(world.spend(world.coin(), fee=1_000))
    child = world.put(world.spend(out(old), fee=1_000))
    new = world.spend(world.coin(), fee=5_000)
    result = world.offer(new)
    assert result.valid
    assert {tx.txid for tx in result.replaced} == {old.txid, child.txid}
    assert list(world.pool.entries) == [new.txid]
    heard = world.listener.heard[2:]
    assert [each.sequence for each in heard] == [3, 4, 5]
    assert heard[-1].entry.tx is new
    assert {getattr(each, "replaced_by", None) for each in heard[:-1]} == {new.txid}


def test_a_test_names_nothing_that_it_would_replace(world: Accepting) -> None:
    world.put(world.spend(world.coin(), fee=1_000))
    result = world.offer(world.spend(world.coin(), fee=5_000), test=True)
    assert result.valid
    assert result.replaced == []


def test_fees_of_what_is_replaced_must_be_paid(world: Accepting) -> None:
    world.put(world.spend(world.coin(), fee=2_000))
    new = world.spend(world.coin(), fee=1_000)
    result = world.offer(new)
    assert result.error is not None
    assert result.error.rejection is TxRejection.TX_RECONSIDERABLE
    assert str(result.error) == (
        f"insufficient fee, rejecting replacement {hash_to_hex(new.txid)}, less fees than conflicting txs; "
        "0.00001 < 0.00002"
    )
    assert result.effective_feerate is not None


def test_relay_of_the_replacement_must_be_paid(world: Accepting) -> None:
    world.put(world.spend(world.coin(), fee=2_000))
    new = world.spend(world.coin(), fee=2_009)
    assert world.reason(new) == (
        f"insufficient fee, rejecting replacement {hash_to_hex(new.txid)}, not enough additional fees to relay; "
        "0.00000009 < 0.0000001"
    )
    assert world.reason(world.spend(world.coin(), fee=2_010)) is None


def test_a_replacement_must_improve_the_feerate_diagram(world: Accepting) -> None:
    world.put(world.spend(world.coin(), fee=2_000))
    big = world.spend(world.coin(), fee=4_000, padding=1_000)
    assert world.reason(big) == "replacement-failed, insufficient feerate: does not improve feerate diagram"


def test_a_replacement_must_not_spend_what_it_replaces(world: Accepting) -> None:
    parent = world.put(world.spend(world.coin(), fee=1_000))
    new = world.spend(world.coin(), out(parent), fee=50_000)
    error = world.offer(new).error
    assert error is not None
    assert error.rejection is TxRejection.TX_CONSENSUS
    assert str(error) == (
        f"bad-txns-spends-conflicting-tx, {hash_to_hex(new.txid)} spends conflicting transaction "
        f"{hash_to_hex(parent.txid)}"
    )
    assert list(world.pool.entries) == [parent.txid]


def test_a_replacement_touches_few_clusters(world: Accepting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rbf, "MAX_REPLACEMENT_CANDIDATES", 1)
    world.put(world.spend(world.coin(0)))
    world.put(world.spend(world.coin(1)))
    new = world.spend(world.coin(0), world.coin(1), fee=50_000)
    assert world.reason(new) == (
        f"too many potential replacements, rejecting replacement {hash_to_hex(new.txid)}; too many conflicting clusters "
        "(2 > 1)"
    )
    assert len(world.pool) == 2


def test_a_second_child_of_a_truc_parent_evicts_the_first_if_it_pays_more(world: Accepting) -> None:
    parent = world.put(world.spend(world.coin(), outputs=2, version=3))
    first = world.put(world.spend(out(parent), version=3, fee=1_000))
    poor = world.spend(out(parent, 1), version=3, fee=1_000)
    assert (world.reason(poor) or "").startswith("insufficient fee (including sibling eviction), rejecting replacement")
    rich = world.spend(out(parent, 1), version=3, fee=5_000)
    result = world.offer(rich)
    assert [tx.txid for tx in result.replaced] == [first.txid]
    assert set(world.pool.entries) == {parent.txid, rich.txid}


def test_truc_children_are_small(world: Accepting) -> None:
    parent = world.put(world.spend(world.coin(), version=3))
    child = world.spend(out(parent), version=3, padding=1_000)
    error = world.offer(child).error
    assert error is not None
    assert (error.rejection, error.reject_reason) == (TxRejection.TX_MEMPOOL_POLICY, "TRUC-violation")
    assert error.debug.endswith(f"is too big: {child.vsize} > 1000 virtual bytes")


def test_ephemeral_dust_must_be_spent(world: Accepting) -> None:
    parent = world.spend(world.coin(), fee=0, version=3, outputs=[TxOut(1, ANYONE)])
    assert world.acceptor.accept_now(parent, accept_time=world.clock.now(), bypass_limits=True).valid
    child = world.spend(out(parent, 1), version=3)
    assert world.reason(child) == (
        f"missing-ephemeral-spends, tx {hash_to_hex(child.txid)} (wtxid={hash_to_hex(child.wtxid)}) did not spend "
        "parent's ephemeral dust"
    )
    assert world.reason(world.spend(out(parent), out(parent, 1), version=3)) is None
