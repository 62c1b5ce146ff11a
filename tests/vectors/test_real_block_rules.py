"""Real blocks under the rules of their height: everything but their scripts."""

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from clarion.node.consensus.block_check import check_block
from clarion.node.consensus.block_context import contextual_check_block
from clarion.node.consensus.connect import connect_block, prevouts_to_fetch
from clarion.node.consensus.subsidy import block_subsidy
from clarion.node.errors import BlockInvalid
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import hash_to_hex
from helpers.positions import Position
from helpers.real_blocks import BLOCKS, load_real_block

# Weight, fees in satoshis, sigop cost: written down so that a change is noticed.
FACTS = {
    "mainnet-300025": (1_136_924, 7_773_345, 5_284),
    "testnet3-928816": (3_568_200, 34_138_981, 9_109),
    "testnet3-928828": (2_481_560, 8_300_088, 23_236),
    "testnet3-928831": (3_992_382, 36_706_665, 10_035),
    "testnet3-928848": (3_992_537, 38_476_510, 11_319),
}
SINGLE = {"mainnet-413567": ("main", 413_567), "mainnet-426884": ("main", 426_884)}


def position_of(block: Block, height: int) -> Position:
    """Return the block's place; its ancestors lie far enough back for every lock to have passed."""
    parent = Position(time=2**32, block_hash=block.header.prev_hash, height=height - 1)
    parent.ancestor = lambda _: Position(time=0)  # type: ignore[method-assign]
    parent.median_time_past = lambda: 2**32  # type: ignore[method-assign]
    return Position(parent, block_hash=block.hash)


@pytest.mark.parametrize("name", BLOCKS)
def test_block_keeps_every_rule(name: str, shared_path: Callable[..., Path]) -> None:
    real = load_real_block(shared_path("blocks"), name)
    chain, height, input_count = BLOCKS[name]
    params, position = select_params(chain), position_of(real.block, height)
    check_block(real.block, params)
    contextual_check_block(real.block, position.prev, params)
    coins = {
        txin.prevout: coin for job in real.jobs for txin, coin in zip(job.tx.inputs, job.spent_outputs, strict=True)
    }
    wanted = {prevout: coins[prevout] for prevout in prevouts_to_fetch(real.block)}
    result = connect_block(real.block, position, params, wanted)
    assert (real.block.weight, result.delta.fees, result.sigop_cost) == FACTS[name]
    claimed = sum(output.value for output in real.block.txs[0].outputs)
    assert claimed == block_subsidy(height, params) + result.delta.fees
    assert (result.input_count - 1, result.flags) == (input_count, real.flags)


@pytest.mark.parametrize("name", SINGLE)
def test_single_block_keeps_the_rules_without_coins(name: str, shared_path: Callable[..., Path]) -> None:
    chain, height = SINGLE[name]
    block = Block.parse(lzma.decompress(shared_path("blocks", f"{name}.block.xz").read_bytes()))
    params = select_params(chain)
    check_block(block, params)
    contextual_check_block(block, position_of(block, height).prev, params)
    with pytest.raises(BlockInvalid, match="bad-cb-height"):
        contextual_check_block(block, position_of(block, height + 1).prev, params)


@pytest.mark.parametrize("name", ["mainnet-300025"])
def test_one_coin_too_few_is_noticed(name: str, shared_path: Callable[..., Path]) -> None:
    real = load_real_block(shared_path("blocks"), name)
    params = select_params("main")
    with pytest.raises(BlockInvalid) as caught:
        connect_block(real.block, position_of(real.block, 300_025), params, {})
    first = hash_to_hex(real.block.txs[1].txid)
    assert str(caught.value).endswith(f"inputs missing/spent in transaction {first}")
