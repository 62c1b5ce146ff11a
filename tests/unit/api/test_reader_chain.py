"""What a reader concludes from the database alone is what the node says of its chain."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from clarion.api.rpc.deployments import deployment_info
from clarion.api.rpc.reader_chain import chain_info, chain_tips
from clarion.api.rpc.stored_position import StoredPosition
from clarion.node.storage.chain_reader import ChainReader
from helpers.api_stack import ApiStack


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[ApiStack]:
    """Return an API over an active chain of seven blocks, a valid fork, an invalid branch and a header alone."""
    stack = ApiStack(tmp_path).ready()
    first = stack.result("generatetodescriptor", 5, "raw(51)")
    stack.result("invalidateblock", first[3])
    stack.result("generatetodescriptor", 3, "raw(52)")
    stack.result("reconsiderblock", first[3])
    stale = stack.result("generateblock", "raw(53)", [], False)["hex"]
    stack.result("submitheader", stale[:160])
    bad = stack.result("generatetodescriptor", 2, "raw(54)")
    stack.result("invalidateblock", bad[0])
    yield stack
    stack.close()


@pytest.fixture
def reader(stack: ApiStack, tmp_path: Path) -> Iterator[ChainReader]:
    """Return a reader of its database and files."""
    with ChainReader(stack.node.url, tmp_path, stack.node.params, blocks_dir=tmp_path / "blocks") as reader:
        yield reader


def as_told(answer: Any) -> Any:
    return json.loads(orjson.dumps(answer))


def test_tips(stack: ApiStack, reader: ChainReader) -> None:
    expected = stack.result("getchaintips")
    assert {tip["status"] for tip in expected} == {"active", "valid-fork", "invalid", "headers-only"}
    assert as_told(chain_tips(reader)) == as_told(expected)


def test_chain(stack: ApiStack, reader: ChainReader) -> None:
    expected = stack.result("getblockchaininfo")
    assert expected["headers"] == expected["blocks"] + 1
    found = as_told(chain_info(reader, stack.node.params))
    changing = ("verificationprogress", "difficulty")
    for name in changing:
        assert float(found.pop(name)) == pytest.approx(float(expected.pop(name)))
    assert found == expected


def test_deployments(stack: ApiStack, reader: ChainReader) -> None:
    stack.result("generatetodescriptor", 150, "raw(51)")
    stale = next(tip["hash"] for tip in stack.result("getchaintips") if tip["status"] == "valid-fork")
    for block_hash in (stack.result("getbestblockhash"), stack.result("getblockhash", 144), stale):
        with reader.snapshot() as snapshot:
            row = snapshot.block(bytes.fromhex(block_hash)[::-1])
            assert row is not None
            found = deployment_info(StoredPosition(snapshot, row), stack.node.params)
        assert as_told(found) == as_told(stack.result("getdeploymentinfo", block_hash))


def test_pruned_blocks_are_noticed(stack: ApiStack, reader: ChainReader) -> None:
    tip = stack.node.manager.tip
    low = tip.ancestor(3)
    assert low is not None
    low.status &= ~8
    stack.node.manager.state.mark_dirty(low)
    stack.result("generatetodescriptor", 1, "raw(51)")
    found = chain_info(reader, stack.node.params)
    assert (found["pruned"], found["pruneheight"]) == (True, 4)


def test_without_block_files_nothing_is_counted(stack: ApiStack, tmp_path: Path) -> None:
    with ChainReader(stack.node.url, tmp_path, stack.node.params, blocks_dir=tmp_path / "elsewhere") as reader:
        assert chain_info(reader, stack.node.params)["size_on_disk"] == 0
