"""Packages: members tried alone, then together, and tests of several transactions one on top of the other."""

from collections.abc import Callable

from clarion.node.mempool.accept.rejection import TxRejection
from clarion.node.mempool.accept.result import PackageRejection, ResultKind
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.options import MempoolLimits, MempoolOptions
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.accepting import ANYONE, WITNESS, Accepting, out

MakeWorld = Callable[[MempoolOptions], Accepting]


def family(world: Accepting, *, parent_fee: int = 0, child_fee: int = 10_000) -> tuple[Transaction, Transaction]:
    """Return a parent and a child."""
    parent = world.spend(world.coin(), fee=parent_fee)
    return parent, world.spend(out(parent), fee=child_fee)


def test_a_child_pays_for_its_parent(world: Accepting) -> None:
    parent, child = family(world)
    told = world.acceptor.accept_package([parent, child])
    assert told.error is None
    rate = FeeRate(10_000, parent.vsize + child.vsize)
    for tx in (parent, child):
        result = told.results[tx.wtxid]
        assert (result.kind, result.effective_feerate) == (ResultKind.VALID, rate)
        assert result.wtxids_fee_calculations == [parent.wtxid, child.wtxid]
    assert [each.entry.tx for each in world.listener.heard] == [parent, child]
    assert all(each.in_package for each in world.listener.heard)  # type: ignore[union-attr]


def test_a_parent_that_pays_comes_in_alone(world: Accepting) -> None:
    parent, child = family(world, parent_fee=1_000, child_fee=0)
    told = world.acceptor.accept_package([parent, child])
    assert str(told.error) == "transaction failed"
    assert told.results[parent.wtxid].wtxids_fee_calculations == [parent.wtxid]
    assert str(told.results[child.wtxid].error) == "min relay fee not met, 0 < 10"
    assert list(world.pool.entries) == [parent.txid]


def test_members_that_are_there_are_left_alone(world: Accepting) -> None:
    parent, child = family(world, parent_fee=1_000)
    world.put(parent)
    told = world.acceptor.accept_package([parent, child])
    assert told.error is None
    assert told.results[parent.wtxid].kind is ResultKind.MEMPOOL_ENTRY
    assert told.results[parent.wtxid].base_fee_sat == 1_000
    assert told.results[child.wtxid].kind is ResultKind.VALID


def test_a_member_with_another_witness_is_not_judged(world: Accepting) -> None:
    parent, child = family(world, parent_fee=1_000)
    world.put(parent)
    other = Transaction(2, [TxIn(world.coin(), sequence=0xFFFFFFFD, witness=(b"\x01", *WITNESS))], parent.outputs)
    told = world.acceptor.accept_package([other, child])
    assert told.error is None
    result = told.results[other.wtxid]
    assert (result.kind, result.other_wtxid) == (ResultKind.DIFFERENT_WITNESS, parent.wtxid)


def test_a_member_that_can_never_come_in_spoils_the_package(world: Accepting) -> None:
    bad = world.spend(world.coin(1), fee=0, version=4)
    parent = world.spend(world.coin(), fee=0)
    child = world.spend(out(parent), out(bad))
    told = world.acceptor.accept_package([parent, bad, child])
    assert str(told.error) == "transaction failed"
    assert str(told.results[bad.wtxid].error) == "version"
    assert str(told.results[parent.wtxid].error) == "min relay fee not met, 0 < 10"
    assert str(told.results[child.wtxid].error) == "bad-txns-inputs-missingorspent"
    assert not world.pool.entries


def test_what_a_package_must_look_like(world: Accepting) -> None:
    parent, child = family(world)
    for package, reason in (
        ([parent] * 26, "package-too-many-transactions"),
        ([child, parent], "package-not-sorted"),
        ([parent, parent], "package-contains-duplicates"),
        ([world.spend(world.coin(1)), child], "package-not-child-with-parents"),
    ):
        told = world.acceptor.accept_package(package)
        assert told.error is not None
        assert (told.error.rejection, str(told.error), told.results) == (PackageRejection.PCKG_POLICY, reason, {})


def test_together_they_may_pay_too_little(world: Accepting) -> None:
    parent, child = family(world, child_fee=11)
    told = world.acceptor.accept_package([parent, child])
    assert str(told.error) == "transaction failed"
    size = parent.vsize + child.vsize
    result = told.results[child.wtxid]
    assert str(result.error) == f"min relay fee not met, 11 < {FeeRate(100).fee(size)}"
    assert result.effective_feerate == FeeRate(11, size)
    assert str(told.results[parent.wtxid].error) == "min relay fee not met, 0 < 10"


def test_a_package_replaces_another(world: Accepting) -> None:
    old = world.put(world.spend(world.coin(), fee=1_000))
    parent = world.spend(world.coin(), fee=10, sequence=5)
    child = world.spend(out(parent), fee=20_000)
    told = world.acceptor.accept_package([parent, child])
    assert told.error is None
    assert told.results[parent.wtxid].replaced == [old]
    assert told.results[child.wtxid].replaced == []
    assert set(world.pool.entries) == {parent.txid, child.txid}


def test_why_a_package_may_not_replace(world: Accepting) -> None:
    world.put(world.spend(world.coin(), fee=1_000))
    parent = world.spend(world.coin(), fee=10, sequence=5)
    told = world.acceptor.accept_package([parent, poor := world.spend(out(parent), fee=900)])
    assert str(told.error) == (
        f"package RBF failed: insufficient anti-DoS fees, rejecting replacement {hash_to_hex(poor.txid)}, less fees than "
        "conflicting txs; 0.0000091 < 0.00001"
    )
    other = world.put(world.spend(world.coin(1)))
    told = world.acceptor.accept_package([parent, world.spend(out(parent), out(other), fee=9_000)])
    assert str(told.error) == "package RBF failed: new transaction cannot have mempool ancestors"
    second = world.spend(world.coin(2), fee=0)
    told = world.acceptor.accept_package([parent, second, world.spend(out(parent), out(second), fee=9_000)])
    assert str(told.error) == "package RBF failed: package must be 1-parent-1-child"


def test_a_parent_must_not_pay_for_its_child(world: Accepting) -> None:
    world.put(world.spend(world.coin(), fee=1_000))
    parent = world.spend(world.coin(), fee=1_005, sequence=5)
    child = world.spend(out(parent), fee=20)
    told = world.acceptor.accept_package([parent, child])
    assert told.error is not None
    assert told.error.reject_reason == ("package RBF failed: package feerate is less than or equal to parent feerate")
    assert told.error.debug == "package feerate 0.00005338 BTC/kvB <= parent feerate is 0.00010468 BTC/kvB"


def test_the_senders_own_limit(world: Accepting) -> None:
    parent, child = family(world, child_fee=100_000)
    told = world.acceptor.accept_package([parent, child], client_maxfeerate=FeeRate(10_000))
    assert str(told.results[child.wtxid].error) == "max feerate exceeded"
    assert str(told.error) == "transaction failed"
    assert not world.pool.entries


def test_a_member_whose_script_fails_keeps_all_out(world: Accepting) -> None:
    parent = world.spend(world.coin(), fee=0)
    child = world.spend(out(parent), witness=(b"\x52",))
    told = world.acceptor.accept_package([parent, child])
    error = told.results[child.wtxid].error
    assert error is not None
    assert error.reject_reason == "mempool-script-verify-flag-failed (Witness program hash mismatch)"
    assert str(told.error) == "transaction failed"
    assert not world.pool.entries


def test_dust_of_a_package_must_be_spent(world: Accepting) -> None:
    parent = world.spend(world.coin(), fee=0, outputs=[TxOut(1, ANYONE)])
    child = world.spend(out(parent, 1))
    told = world.acceptor.accept_package([parent, child])
    assert str(told.error) == "unspent-dust"
    error = told.results[child.wtxid].error
    assert error is not None
    assert error.reject_reason == "missing-ephemeral-spends"
    told = world.acceptor.accept_package([parent, world.spend(out(parent), out(parent, 1))])
    assert told.error is None


def test_a_package_in_a_full_pool(make_world: MakeWorld) -> None:
    world = make_world(MempoolOptions(max_size_bytes=1))
    parent, child = family(world)
    told = world.acceptor.accept_package([parent, child])
    assert str(told.error) == "transaction failed"
    for tx in (parent, child):
        error = told.results[tx.wtxid].error
        assert error is not None
        assert (error.rejection, str(error)) == (TxRejection.TX_MEMPOOL_POLICY, "mempool full")


def test_several_are_tested_one_on_top_of_the_other(world: Accepting) -> None:
    parent, child = family(world, parent_fee=1_000)
    told = world.acceptor.accept_package([parent, child], test=True)
    assert told.error is None
    assert [told.results[tx.wtxid].wtxids_fee_calculations for tx in (parent, child)] == [[parent.wtxid], [child.wtxid]]
    assert not world.pool.entries
    world.put(world.spend(world.coin(), fee=20_000))
    told = world.acceptor.accept_package([parent, child], test=True)
    assert str(told.error) == "transaction failed"
    assert {wtxid: str(each.error) for wtxid, each in told.results.items()} == {
        parent.wtxid: "bip125-replacement-disallowed"
    }


def test_a_package_keeps_the_cluster_limits(make_world: MakeWorld) -> None:
    world = make_world(MempoolOptions(limits=MempoolLimits(cluster_count=2)))
    grandparent = world.put(world.spend(world.coin(), fee=1_000))
    parent = world.spend(out(grandparent), fee=0)
    told = world.acceptor.accept_package([parent, world.spend(out(parent))])
    assert str(told.error) == "too-large-cluster"


def test_truc_in_a_package(world: Accepting) -> None:
    parent = world.spend(world.coin(), fee=0, version=3)
    child = world.spend(out(parent), version=2)
    told = world.acceptor.accept_package([parent, child])
    assert told.error is not None
    assert told.error.reject_reason == "TRUC-violation"
    assert told.error.debug.startswith("non-version=3 tx")


def test_members_before_a_failed_script_are_told_to_pass_a_test(world: Accepting) -> None:
    parent = world.spend(world.coin())
    bad = world.spend(out(parent), witness=(b"\x52",))
    last = world.spend(out(bad))
    told = world.acceptor.accept_package([parent, bad, last], test=True)
    assert str(told.error) == "transaction failed"
    assert told.results[parent.wtxid].valid
    assert told.results[bad.wtxid].error is not None
    assert last.wtxid not in told.results
