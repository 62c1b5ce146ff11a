"""Accepting in two halves: what runs in jobs, what is repeated, and what the script cache spares."""

from collections.abc import Callable, Sequence

import pytest

from clarion.node.consensus.connect import ScriptJob
from clarion.node.mempool.accept.script_step import POLICY_FLAGS
from clarion.node.script.errors import ScriptError
from clarion.node.script.flags import MANDATORY_SCRIPT_VERIFY_FLAGS
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.inline_queue import InlineQueue
from clarion.node.validation.pipeline import ScriptPipeline
from clarion.node.validation.thread_queue import ThreadQueue
from helpers.accepting import Accepting, out
from helpers.chain_builder import Built
from helpers.chain_node import ChainNode


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


def test_a_block_of_accepted_transactions_runs_no_script(world: Accepting, monkeypatch: pytest.MonkeyPatch) -> None:
    tx = world.put(world.spend(world.coin()))
    pipeline = ScriptPipeline(InlineQueue(), world.cache)
    monkeypatch.setattr(pipeline, "_inline", NoChecks())
    job = ScriptJob(tx, [], 1)
    assert pipeline.submit([job], MANDATORY_SCRIPT_VERIFY_FLAGS).result() is None
    # What policy alone asks for is not kept.
    assert not world.cache.contains(tx.wtxid, POLICY_FLAGS)


class NoChecks:
    """Fails everything that it is asked."""

    def check(self, jobs: Sequence[ScriptJob], flags: int) -> ScriptFailure | None:
        """Return a failure if there is anything to check."""
        return ScriptFailure(0, 0, ScriptError.UNKNOWN_ERROR) if jobs else None
