"""waitfornewblock, waitforblock and waitforblockheight, over a real chain in one process."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from helpers.api_stack import ApiStack

ZERO = "0" * 64


def answer_after(stack: ApiStack, call: Callable[[], Any]) -> Any:
    """Return what `call` answers when a block comes while it waits."""
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(call()))
    waiting.start()
    while not stack.context.chain.manager.tip_watch._waits:
        time.sleep(0.001)
    assert not answers
    stack.result("generatetodescriptor", 1, "raw(51)")
    waiting.join()
    return answers[0]


@pytest.mark.parametrize(
    ("method", "params"),
    [("waitfornewblock", []), ("waitfornewblock", [60_000]), ("waitforblockheight", [1])],
    ids=["new", "new-with-timeout", "height"],
)
def test_answer_comes_with_the_block(own_stack: ApiStack, method: str, params: list[Any]) -> None:
    answer = answer_after(own_stack, lambda: own_stack.result(method, *params))
    assert answer == {"hash": own_stack.result("getbestblockhash"), "height": 1}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("waitfornewblock", [1]),
        ("waitfornewblock", [0, ZERO]),
        ("waitforblock", [ZERO, 1]),
        ("waitforblockheight", [3]),
        ("waitforblockheight", [4, 1]),
    ],
    ids=["time-up", "other-tip", "unknown-block", "height-reached", "height-time-up"],
)
def test_present_tip_is_the_answer(stack: ApiStack, method: str, params: list[Any]) -> None:
    tip = {"hash": stack.result("getbestblockhash"), "height": 3}
    assert stack.result(method, *params) == tip
    assert stack.result("waitforblock", tip["hash"]) == tip


@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("waitfornewblock", [-1], -1, "Negative timeout"),
        ("waitforblock", ["00"], -8, "blockhash must be of length 64 (not 2, for '00')"),
        ("waitfornewblock", [1, "00"], -8, "current_tip must be of length 64 (not 2, for '00')"),
        ("waitforblockheight", [1.5], -1, "JSON integer out of range"),
    ],
)
def test_refusals(stack: ApiStack, method: str, params: list[Any], code: int, message: str) -> None:
    assert stack.error(method, *params) == (code, message)
