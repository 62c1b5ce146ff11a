"""Blocks that are connected while their scripts are still being checked: nothing of them is told before, all of it goes."""

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Timer

import pytest

from clarion.node.chain.coin_flusher import CoinFlusher
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.consensus.connect import ScriptJob
from clarion.node.errors import ClarionError, StorageError
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.errors import ScriptError
from clarion.node.validation.check_queue import ScriptFailure
from helpers.chain_builder import COIN, OP_TRUE, Built, genesis, make_block, make_chain, make_coinbase
from helpers.chain_node import ChainNode

INITIAL_DOWNLOAD_AGE = 60


class LateChecker:
    """Gives futures and keeps them; the test says when and how each check ends."""

    def __init__(self) -> None:
        self.checks: list[Future[ScriptFailure | None]] = []

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        self.checks.append(Future())
        return self.checks[-1]

    def remember(self, jobs: Sequence[ScriptJob], flags: int) -> None: ...


class Scene:
    """A node in initial download over 101 blocks, and three blocks on top, each of which spends a coin."""

    def __init__(self, folder: Path) -> None:
        self.checker = LateChecker()
        self.node = ChainNode(folder, max_tip_age=INITIAL_DOWNLOAD_AGE, checker=self.checker)
        self.base = make_chain(genesis(), 103)
        self.node.submit(*self.base)
        self.seen = self.node.rows()[-1].seq
        self.coins = self.stored_coins()
        self.blocks = []
        prev = self.base[-1]
        for number in range(3):
            outpoint, output = self.base[number].coinbase_output()
            prev = make_block(prev, [Transaction(2, [TxIn(outpoint)], [TxOut(output.value, OP_TRUE)])])
            self.blocks.append(prev)

    def give(self, *blocks: Built) -> list[BlockOutcome]:
        """Process blocks without a commit."""
        return [self.node.manager.process_new_block(built.block) for built in blocks if built.block is not None]

    def stored_coins(self) -> dict[bytes, int]:
        """Flush and return all coins."""
        self.node.manager.journal.flush()
        return {bytes(outpoint): coin.value for outpoint, coin in self.node.database.coins.iterate()}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_blocks_are_connected_ahead_of_their_checks_and_told_after_them(scene: Scene) -> None:
    outcomes = scene.give(*scene.blocks)
    assert scene.node.manager.state.active.tip.hash == scene.blocks[2].hash
    assert scene.node.manager.tip.hash == scene.base[-1].hash
    assert [outcome.checked for outcome in outcomes] == [False, False, False]
    for check in scene.checker.checks:
        check.set_result(None)
    scene.node.manager.commit()
    assert [outcome.checked for outcome in outcomes] == [True, True, True]
    assert scene.node.story(scene.blocks, scene.seen) == ["+0", "=0", "+1", "=1", "+2", "=2"]
    assert scene.node.manager.tip.hash == scene.blocks[2].hash


def test_a_failed_check_takes_its_block_and_all_above_back(scene: Scene) -> None:
    outcomes = scene.give(*scene.blocks)
    scene.checker.checks[0].set_result(None)
    scene.checker.checks[1].set_result(ScriptFailure(1, 0, ScriptError.EVAL_FALSE))
    scene.node.manager.commit()
    reasons = [outcome.invalid.reject_reason if outcome.invalid else None for outcome in outcomes]
    assert reasons[0] is None
    assert reasons[1] is not None
    assert reasons[1].startswith("block-script-verify-flag-failed (Script evaluated without error but")
    assert reasons[2] == "bad-prevblk"
    assert scene.node.story(scene.blocks, scene.seen) == ["+0", "=0"]
    assert scene.node.tip == scene.blocks[0].hash
    assert scene.node.reasons(*scene.blocks[1:]) == ["duplicate-invalid", "duplicate-invalid"]


def test_the_coins_are_as_if_the_block_had_never_come(scene: Scene) -> None:
    scene.give(*scene.blocks)
    scene.checker.checks[0].set_result(ScriptFailure(1, 0, ScriptError.EVAL_FALSE))
    scene.node.manager.commit()
    assert scene.stored_coins() == scene.coins
    assert scene.node.rows(scene.seen) == []
    scene.node.restart()
    assert scene.node.tip == scene.base[-1].hash


def test_another_branch_takes_over_where_a_check_fails(scene: Scene) -> None:
    rival = make_block(scene.base[-1], extra_nonce=7)
    scene.give(scene.blocks[0], rival, scene.blocks[1])
    scene.checker.checks[0].set_result(ScriptFailure(1, 0, ScriptError.EVAL_FALSE))
    scene.node.manager.commit()
    assert scene.node.tip == rival.hash
    assert scene.node.story([rival], scene.seen) == ["+0", "=0"]


def test_a_rule_that_a_later_block_breaks_waits_for_the_scripts_below(scene: Scene) -> None:
    greedy = make_block(scene.blocks[0], coinbase=make_coinbase(105, value=51 * COIN))
    scene.checker.submit = _failing(scene.checker)  # type: ignore[method-assign]
    outcomes = scene.give(scene.blocks[0], greedy)
    scene.node.manager.commit()
    assert outcomes[0].invalid is not None
    assert outcomes[0].invalid.reject_reason.startswith("block-script-verify-flag-failed")
    assert scene.node.tip == scene.base[-1].hash


def _failing(checker: LateChecker) -> object:
    def submit(jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        future: Future[ScriptFailure | None] = Future()
        future.set_result(ScriptFailure(1, 0, ScriptError.EVAL_FALSE))
        return future

    return submit


def test_workers_that_can_not_check_stop_the_node_and_condemn_no_block(scene: Scene) -> None:
    scene.give(scene.blocks[0])
    scene.checker.checks[0].set_exception(ClarionError("11 script workers died while checking one block"))
    with pytest.raises(StorageError, match="workers died"):
        scene.node.manager.commit()
    assert not scene.node.manager.state.index[scene.blocks[0].hash].failed


def test_undo_data_is_there_after_the_check(scene: Scene) -> None:
    scene.give(*scene.blocks)
    for check in scene.checker.checks:
        check.set_result(None)
    scene.node.manager.commit()
    entry = scene.node.manager.state.index[scene.blocks[2].hash]
    undo = scene.node.undo_files.read_undo(entry.undo_position, entry.hash)
    assert [[coin.value for coin in coins] for coins in undo] == [[50 * COIN]]


def pass_checks(scene: Scene, *numbers: int) -> None:
    for number in numbers:
        scene.checker.checks[number].set_result(None)


def test_what_is_settled_is_committed_while_later_scripts_are_checked(scene: Scene) -> None:
    outcomes = scene.give(*scene.blocks[:2])
    pass_checks(scene, 0)
    outcomes += scene.give(scene.blocks[2])
    scene.node.manager.commit_due()
    assert scene.node.story(scene.blocks, scene.seen) == ["+0", "=0"]
    assert scene.node.manager.tip.hash == scene.blocks[0].hash
    assert scene.node.manager.journal.durable_seq == scene.seen + 2
    pass_checks(scene, 1, 2)
    scene.node.manager.commit()
    assert scene.node.story(scene.blocks, scene.seen) == ["+0", "=0", "+1", "=1", "+2", "=2"]
    assert [outcome.checked for outcome in outcomes] == [True, True, True]


def test_a_check_that_fails_behind_a_commit_takes_nothing_of_it_back(scene: Scene) -> None:
    scene.give(*scene.blocks[:2])
    pass_checks(scene, 0)
    scene.give(scene.blocks[2])
    scene.node.manager.commit_due()
    scene.checker.checks[1].set_result(ScriptFailure(1, 0, ScriptError.EVAL_FALSE))
    scene.node.manager.commit()
    assert scene.node.story(scene.blocks, scene.seen) == ["+0", "=0"]
    assert scene.node.tip == scene.blocks[0].hash
    spent, made = scene.base[0].coinbase_output()[0], scene.blocks[0].coinbase_output()[0]
    coins = scene.stored_coins()
    assert bytes(spent) not in coins
    assert bytes(made) in coins
    assert bytes(scene.base[1].coinbase_output()[0]) in coins


def test_a_crash_behind_such_a_commit_checks_the_later_blocks_again(scene: Scene) -> None:
    scene.give(*scene.blocks[:2])
    pass_checks(scene, 0)
    scene.give(scene.blocks[2])
    scene.node.manager.commit_due()
    scene.node.restart()
    assert scene.node.tip == scene.blocks[0].hash
    scene.node.manager.activate_best_chain()
    scene.give(scene.blocks[2])
    pass_checks(scene, 3, 4)
    scene.node.manager.commit()
    assert scene.node.story(scene.blocks, scene.seen) == ["+0", "=0", "+1", "=1", "+2", "=2"]


def test_a_full_cache_waits_for_the_scripts(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CoinFlusher, "due", True)
    scene.checker.submit = _passing  # type: ignore[method-assign]
    scene.give(*scene.blocks)
    scene.node.manager.commit_due()
    assert scene.node.story(scene.blocks, scene.seen) == ["+0", "=0", "+1", "=1", "+2", "=2"]
    scene.node.manager.journal.flusher.wait()
    assert scene.node.database.coins.tip() == scene.blocks[2].hash


def _passing(jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
    future: Future[ScriptFailure | None] = Future()
    Timer(0.05, future.set_result, [None]).start()
    return future


def test_blocks_that_came_later_are_kept_as_headers_only(scene: Scene) -> None:
    scene.give(*scene.blocks[:2])
    pass_checks(scene, 0)
    rival = make_chain(scene.base[-1], 2, extra_nonce=9)
    scene.give(scene.blocks[2], *rival)
    scene.node.manager.commit_due()
    scene.node.restart()
    index = scene.node.manager.state.index
    assert [index[built.hash].has_data for built in scene.blocks] == [True, True, False]
    assert not any(index[built.hash].has_data for built in rival)
    scene.checker.submit = _passing  # type: ignore[method-assign]
    assert [outcome.new for outcome in scene.give(scene.blocks[2], *rival)] == [True, True, True]
    scene.node.manager.commit()
    assert scene.node.story(scene.blocks, scene.seen) == ["+0", "=0", "+1", "=1", "+2", "=2"]
