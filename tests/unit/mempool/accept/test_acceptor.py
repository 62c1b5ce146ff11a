"""Accepting in two halves: what runs in jobs, what is repeated, and what the script cache spares."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future

import pytest

from clarion.node.consensus.connect import ScriptJob
from clarion.node.mempool.accept.script_step import POLICY_FLAGS
from clarion.node.primitives.transaction import Transaction, TxOut
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.script_cache import ScriptCache
from clarion.node.validation.thread_queue import ThreadQueue
from helpers.accepting import Accepting, out
from helpers.chain_builder import Built, make_block
from helpers.chain_node import ChainNode
from helpers.signing import Key, sign


@pytest.fixture
def halves(chain: tuple[ChainNode, Sequence[Built]]) -> Accepting:
    """Return a pool whose node has script workers."""
    return Accepting(*chain, queue=ThreadQueue(2, 8))


def in_between(world: Accepting, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have `act` done while the scripts of the next transaction are run."""
    check = world.scripts.check

    def interrupted(job: ScriptJob, policy_flags: int, block_flags: int) -> object:
        monkeypatch.setattr(world.scripts, "check", check)
        failed = check(job, policy_flags, block_flags)
        act()
        return failed

    monkeypatch.setattr(world.scripts, "check", interrupted)


def test_without_workers_all_is_one_job(world: Accepting) -> None:
    world.put(world.spend(world.coin()))
    assert world.chain.jobs == 1


def test_with_workers_a_few_signatures_are_checked_at_once(halves: Accepting) -> None:
    key = Key(1)
    parent = halves.put(halves.spend(halves.coin(), outputs=[TxOut(100_000, key.wpkh)]))
    jobs = halves.chain.jobs
    outputs = [TxOut(90_000, key.wpkh)]
    inputs = sign(key, [(out(parent), parent.outputs[0])], outputs)
    halves.put(Transaction(2, inputs, outputs))
    assert (halves.chain.jobs - jobs, halves.scripts.runs) == (1, 2)


def test_with_workers_scripts_run_between_two_jobs(halves: Accepting) -> None:
    old = halves.put(halves.spend(halves.coin()))
    assert (halves.chain.jobs, halves.scripts.runs) == (2, 1)
    new = halves.put(halves.spend(halves.coin(), fee=50_000))
    assert list(halves.pool.entries) == [new.txid]
    assert halves.listener.removed() == [(old, "replaced")]


def test_a_test_ends_with_the_scripts(halves: Accepting) -> None:
    tx = halves.spend(halves.coin())
    assert halves.offer(tx, test=True).valid
    assert halves.chain.jobs == 1
    halves.put(tx)
    # The scripts are known, so there was nothing to wait for.
    assert (halves.chain.jobs, halves.scripts.runs) == (2, 1)


def test_a_failed_script_needs_no_second_job(halves: Accepting) -> None:
    assert "mempool-script-verify-flag-failed" in (halves.reason(halves.spend(halves.coin(), witness=(b"\x52",))) or "")
    assert halves.chain.jobs == 1


def test_what_changed_in_between_is_judged_again(halves: Accepting, monkeypatch: pytest.MonkeyPatch) -> None:
    tx = halves.spend(halves.coin())
    rival = halves.spend(halves.coin(), fee=50_000)
    in_between(halves, monkeypatch, lambda: halves.put(rival))
    assert (halves.reason(tx) or "").startswith("insufficient fee, rejecting replacement")
    assert list(halves.pool.entries) == [rival.txid]


def test_what_did_not_matter_in_between_costs_no_second_script(
    halves: Accepting, monkeypatch: pytest.MonkeyPatch
) -> None:
    tx = halves.spend(halves.coin())
    in_between(halves, monkeypatch, lambda: halves.put(halves.spend(halves.coin(1))))
    assert halves.reason(tx) is None
    assert len(halves.pool) == 2
    assert halves.scripts.runs == 2


def test_scripts_of_a_package_run_before_it_is_judged(halves: Accepting) -> None:
    parent = halves.spend(halves.coin(), fee=0)
    child = halves.spend(out(parent))
    assert halves.acceptor.accept_package([parent, child]).error is None
    assert (halves.chain.jobs, halves.scripts.runs) == (2, 2)


def test_no_script_runs_for_a_package_that_pays_too_little(halves: Accepting) -> None:
    parent = halves.spend(halves.coin(), fee=0)
    child = halves.spend(out(parent), fee=1)
    assert halves.acceptor.accept_package([parent, child]).error is not None
    assert halves.scripts.runs == 0


class Asked:
    """Stands for the script pipeline; keeps how many transactions of each block would be checked."""

    def __init__(self, cache: ScriptCache) -> None:
        self._cache = cache
        self.unknown: list[int] = []

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        self.unknown.append(len(self._cache.unknown(jobs, flags)))
        passed: Future[ScriptFailure | None] = Future()
        passed.set_result(None)
        return passed

    def remember(self, jobs: Sequence[ScriptJob], flags: int) -> None: ...


def test_a_block_of_accepted_transactions_runs_no_script(world: Accepting, monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = world.put(world.spend(world.coin()))
    unseen = world.spend(world.coin(1))
    checker = Asked(world.cache)
    monkeypatch.setattr(world.node.manager._connector, "_checker", checker)
    for txs in ([accepted], [accepted, unseen]):
        block = make_block(world.blocks[-1], txs).block
        assert block is not None
        world.node.manager.dry_run(block)
    assert checker.unknown == [0, 1]
    # What policy alone asks for is not kept.
    assert not world.cache.contains(accepted.wtxid, POLICY_FLAGS)
