"""estimatesmartfee and estimaterawfee: answers and errors."""

from decimal import Decimal

import pytest

from clarion.node.mempool.feerate import FeeRate
from helpers.api_stack import ApiStack
from helpers.fee_history import usual_history


@pytest.fixture
def own_stack(own_stack: ApiStack) -> ApiStack:
    """Return a stack that has seen two hundred blocks with transactions."""
    own_stack.context.fee_estimator = usual_history().estimator
    return own_stack


def test_smart_estimates(own_stack: ApiStack) -> None:
    assert own_stack.result("estimatesmartfee", 1) == {"feerate": Decimal("0.00088888"), "blocks": 2}
    economical = own_stack.result("estimatesmartfee", 6, "Economical")
    assert own_stack.result("estimatesmartfee", 6, "unset") == own_stack.result("estimatesmartfee", 6) == economical
    conservative = own_stack.result("estimatesmartfee", 6, "conservative")
    assert conservative["feerate"] >= economical["feerate"]


def test_amounts_have_eight_decimals(own_stack: ApiStack) -> None:
    answer = own_stack.post({"method": "estimatesmartfee", "params": [1], "id": 1})
    assert b'{"feerate":0.00088888,"blocks":2}' in answer.content


def test_estimates_are_at_least_what_the_pool_demands(own_stack: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = own_stack.mempool.pool
    monkeypatch.setattr(pool, "min_fee", lambda: FeeRate(123_456_789))
    assert own_stack.result("estimatesmartfee", 1)["feerate"] == Decimal("1.23456789")


def test_without_data(stack: ApiStack) -> None:
    assert stack.result("estimatesmartfee", 6) == {"errors": ["Insufficient data or no feerate found"], "blocks": 0}
    raw = stack.result("estimaterawfee", 13)
    assert list(raw) == ["medium", "long"]
    nothing = {"withintarget": 0, "totalconfirmed": 0, "inmempool": 0, "leftmempool": 0}
    assert raw["medium"] == {
        "decay": Decimal("0.9952"),
        "scale": 2,
        "fail": {"startrange": 0, "endrange": Decimal("1e99"), **nothing},
        "errors": ["Insufficient data or no feerate found which meets threshold"],
    }


def test_raw_estimates(own_stack: ApiStack) -> None:
    raw = own_stack.result("estimaterawfee", 2)
    assert list(raw) == ["short", "medium", "long"]
    short = raw["short"]
    assert list(short) == ["feerate", "decay", "scale", "pass", "fail"]
    assert (short["decay"], short["scale"]) == (Decimal("0.962"), 1)
    assert short["pass"]["startrange"] < short["feerate"] * 10**8 <= short["pass"]["endrange"]
    assert short["pass"]["withintarget"].as_tuple().exponent == -2
    # With a threshold of nothing all pass that have data enough; only the cheapest have too little.
    lenient = own_stack.result("estimaterawfee", 2, 0)["short"]
    assert lenient["feerate"] < short["feerate"]
    assert lenient["fail"]["startrange"] == 0


@pytest.mark.parametrize("method", ["estimatesmartfee", "estimaterawfee"])
@pytest.mark.parametrize("target", [0, -1, 1009])
def test_targets_have_limits(stack: ApiStack, method: str, target: int) -> None:
    assert stack.error(method, target) == (-8, "Invalid conf_target, must be between 1 and 1008")


def test_other_wrong_arguments(stack: ApiStack) -> None:
    modes = '"unset", "economical", "conservative"'
    error = (-8, f"Invalid estimate_mode parameter, must be one of: {modes}")
    assert stack.error("estimatesmartfee", 6, "fast") == error
    for threshold in (-0.01, 1.01):
        assert stack.error("estimaterawfee", 6, threshold) == (-8, "Invalid threshold")
    assert stack.error("estimatesmartfee", "6")[0] == -3
    assert stack.error("estimaterawfee", 6, "0.5")[0] == -3


@pytest.mark.parametrize("method", ["estimatesmartfee", "estimaterawfee"])
def test_estimation_can_be_off(own_stack: ApiStack, method: str) -> None:
    own_stack.context.fee_estimator = None
    assert own_stack.error(method, 6) == (-32603, "Fee estimation disabled")
