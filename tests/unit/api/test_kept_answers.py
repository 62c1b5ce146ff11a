"""Answers that are kept: the same bytes the second time, as long as the block's files are there and its place is new."""

from pathlib import Path

import pytest

from helpers.api_stack import ApiStack


def paths(stack: ApiStack) -> list[str]:
    tip = stack.result("getbestblockhash")
    return [f"/rest/block/{tip}.json", f"/rest/block/notxdetails/{tip}.json", f"/rest/spenttxouts/{tip}.json"]


def calls(stack: ApiStack) -> list[tuple[object, ...]]:
    tip = stack.result("getbestblockhash")
    txid = stack.result("getblock", tip)["tx"][0]
    return [
        *[("getblock", tip, verbosity) for verbosity in (1, 2, 3)],
        ("getblockstats", tip),
        ("gettxoutproof", [txid], tip),
    ]


def test_the_second_answer_is_the_first(stack: ApiStack) -> None:
    for path in paths(stack):
        assert stack.get(path).content == stack.get(path).content
    for call in calls(stack):
        assert stack.call(*call) == stack.call(*call)  # type: ignore[arg-type]


def test_a_block_s_place_is_new_each_time(own_stack: ApiStack) -> None:
    own_stack.result("generatetodescriptor", 1, "raw(51)")
    tip = own_stack.result("getbestblockhash")
    assert own_stack.result("getblock", tip)["confirmations"] == 1
    (behind,) = own_stack.result("generatetodescriptor", 1, "raw(51)")
    block = own_stack.result("getblock", tip)
    assert (block["confirmations"], block["nextblockhash"]) == (2, behind)
    assert list(block).index("nextblockhash") == list(block).index("strippedsize") - 1


@pytest.mark.parametrize("prefix", ["blk", "rev"])
def test_nothing_is_told_of_a_block_whose_file_is_gone(own_stack: ApiStack, tmp_path: Path, prefix: str) -> None:
    own_stack.result("generatetodescriptor", 2, "raw(51)")
    asked, targets = calls(own_stack), paths(own_stack)
    before = [own_stack.call(*call)["error"] for call in asked]  # type: ignore[arg-type]
    assert before == [None] * len(asked)
    assert [own_stack.get(path).status_code for path in targets] == [200] * 3
    file = tmp_path / "blocks" / f"{prefix}00000.dat"
    file.rename(file.with_suffix(".moved"))
    errors = [own_stack.call(*call)["error"] is not None for call in asked]  # type: ignore[arg-type]
    statuses = [own_stack.get(path).status_code for path in targets]
    if prefix == "blk":
        assert errors == [True] * 5
        assert statuses == [500, 500, 200]
    else:
        assert errors == [False, True, True, True, False]
        assert statuses == [500, 200, 404]
