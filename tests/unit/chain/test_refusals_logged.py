"""The log tells of every refused header and block, in the reference's words where tools look for them."""

from pathlib import Path

import pytest

from clarion.node.errors import BlockInvalid
from helpers.chain_builder import genesis, make_block, make_chain, make_coinbase
from helpers.chain_node import ChainNode


@pytest.fixture
def node(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> ChainNode:
    caplog.set_level("DEBUG", "clarion.node.chain")
    return ChainNode(tmp_path)


def test_header(node: ChainNode, caplog: pytest.LogCaptureFixture) -> None:
    first, second = make_chain(genesis(), 2)
    assert second.block is not None
    with pytest.raises(BlockInvalid):
        node.manager.process_new_headers([second.block.header])
    assert caplog.messages[-1].endswith(f"{second.hash[::-1].hex()}, prev-blk-not-found")
    assert first.block is not None
    with pytest.raises(BlockInvalid):
        node.manager.process_new_headers([first.block.header], min_pow_checked=False)
    assert "missing anti-dos proof-of-work validation" in caplog.messages[-1]


def test_block_before_it_is_connected(node: ChainNode, caplog: pytest.LogCaptureFixture) -> None:
    wrong = make_block(genesis(), coinbase=make_coinbase(7, value=1))
    assert node.reasons(wrong) == ["bad-cb-height"]
    reason = "bad-cb-height, block height mismatch in coinbase"
    assert f"AcceptBlock: {reason}" in caplog.messages
    assert caplog.messages[-1] == f"ProcessNewBlock: AcceptBlock FAILED ({reason})"
    assert node.reasons(wrong) == ["duplicate-invalid"]
    assert f"AcceptBlockHeader: block {wrong.hash[::-1].hex()} is marked invalid" in caplog.messages


def test_block_that_can_not_be_connected(node: ChainNode, caplog: pytest.LogCaptureFixture) -> None:
    greedy = make_block(genesis(), fees=10_00000000)
    assert node.reasons(greedy) == ["bad-cb-amount"]
    reason = "bad-cb-amount, coinbase pays too much (actual=6000000000 vs limit=5000000000)"
    assert f"Block validation error: {reason}" in caplog.messages
    assert f"ConnectTip: ConnectBlock {greedy.hash[::-1].hex()} failed, {reason}" in caplog.messages
