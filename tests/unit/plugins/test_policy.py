"""Rules of the operator's own: asked before a transaction is judged, of packages too, and again when the tip moves."""

import logging
from pathlib import Path

import pytest

from clarion.node.config import load_config
from clarion.node.mempool.accept.acceptor import Acceptor
from clarion.node.mempool.accept.operator_policy import OperatorPolicy, TransactionView
from clarion.plugins.policy import build_policy
from helpers.accepting import Accepting, build_chain, out
from helpers.chain_builder import make_block

PLUGIN = """
from clarion.plugins import hookimpl
class Raising:
    @hookimpl
    def accept_transaction(self, view): raise KeyError("oops")
class Small:
    @hookimpl
    def accept_transaction(self, view): return "too many outputs" if len(view.tx.outputs) > 2 else None
"""


@pytest.fixture
def accepting(tmp_path: Path) -> Accepting:
    node, blocks = build_chain(tmp_path)
    return Accepting(node, blocks)


def _with(accepting: Accepting, policy: OperatorPolicy) -> Accepting:
    accepting.acceptor = Acceptor(accepting.pool, accepting.acceptor._chain, accepting.scripts, policy)
    return accepting


def test_view_shows_what_is_known_before_the_lock(accepting: Accepting) -> None:
    views: list[TransactionView] = []
    accepting = _with(accepting, lambda view: views.append(view))  # type: ignore[func-returns-value]
    tx = accepting.put(accepting.spend(accepting.coin(), fee=777))
    (view,) = views
    assert (view.tx.txid, view.fee_sat, view.vsize) == (tx.txid, 777, tx.vsize)
    assert view.spent[0].value == 50 * 10**8
    assert (view.tip_height, view.tip_hash) == (accepting.blocks[-1].height, accepting.blocks[-1].hash)


def test_objection_is_the_reason_and_nothing_comes_in(accepting: Accepting) -> None:
    accepting = _with(accepting, lambda view: "no" if view.fee_sat < 5_000 else None)
    assert accepting.reason(accepting.spend(accepting.coin(), fee=1_000)) == "operator-policy, no"
    assert accepting.reason(accepting.spend(accepting.coin(), fee=6_000)) is None
    assert len(accepting.pool.entries) == 1


def test_members_of_a_package_are_asked_about(accepting: Accepting) -> None:
    accepting = _with(accepting, lambda view: "no" if view.fee_sat == 3_000 else None)
    parent = accepting.spend(accepting.coin(), fee=2_000)
    child = accepting.spend(out(parent), fee=3_000)
    result = accepting.acceptor.accept_package([parent, child])
    assert str(result.results[child.wtxid].error) == "operator-policy, no"
    assert not accepting.pool.entries


def test_rules_are_asked_again_when_the_tip_moves(accepting: Accepting) -> None:
    heights: list[int] = []

    def move_the_tip(view: TransactionView) -> None:
        heights.append(view.tip_height)
        if len(heights) == 1:
            accepting.node.submit(make_block(accepting.blocks[-1]))

    _with(accepting, move_the_tip).put(accepting.spend(accepting.coin(3)))
    assert heights == [heights[0], heights[0] + 1]


def test_raising_rule_objects_to_nothing_and_the_next_is_asked(
    accepting: Accepting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "policy_of_test.py").write_text(PLUGIN)
    options = [f"-datadir={tmp_path}", "-plugin=policy_of_test:Raising", "-plugin=policy_of_test:Small"]
    policy = build_policy(load_config(options, {}))
    assert policy is not None
    accepting = _with(accepting, policy)
    assert accepting.reason(accepting.spend(accepting.coin(), outputs=2)) is None
    reason = accepting.reason(accepting.spend(accepting.coin(2), outputs=3))
    assert reason == "operator-policy, policy_of_test:Small: too many outputs"
    assert "plugin policy_of_test:Raising: accept_transaction raised for transaction" in caplog.text


def test_without_rules_there_is_nobody_to_ask(tmp_path: Path) -> None:
    assert build_policy(load_config([f"-datadir={tmp_path}"], {})) is None
