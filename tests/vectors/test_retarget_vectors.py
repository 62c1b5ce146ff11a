"""Mainnet's rules over a whole retarget period: 2,016 mined blocks that raise the difficulty fourfold."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clarion.node.consensus.block_check import check_block
from clarion.node.consensus.block_context import contextual_check_block, contextual_check_block_header
from clarion.node.consensus.pow import difficulty, next_work_required, permitted_difficulty_transition
from clarion.node.errors import BlockInvalid
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import NULL_OUTPOINT
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_builder import height_push
from helpers.positions import Position

MAIN = select_params("main")
INTERVAL = 2016
EASY, HARD = 0x1D00FFFF, 0x1C3FFFC0
PAYOUT = bytes.fromhex("76a914eadbac7f36c37e39361168b7aaee3cb24a25312d88ac")


def make_block(prev: Position, time: int, nonce: int, bits: int) -> Block:
    height = prev.height + 1
    script_sig = height_push(height) + (b"\x00" if height <= 16 else b"")
    coinbase = Transaction(2, [TxIn(NULL_OUTPOINT, script_sig)], [TxOut(50 * 100_000_000, PAYOUT)])
    return Block(BlockHeader(0x20000000, prev.hash, coinbase.txid, time, bits, nonce), [coinbase])


def extend(prev: Position, block: Block) -> Position:
    """Return the block's position after all checks of its header and body."""
    header = block.header
    check_block(block, MAIN)
    contextual_check_block_header(header, prev, MAIN, header.time)
    contextual_check_block(block, prev, MAIN)
    return Position(prev, time=header.time, bits=header.bits, version=header.version, block_hash=block.hash)


@pytest.fixture(scope="module")
def tips() -> list[Position]:
    """Hold the chain once it is built: [the last block of the first period]."""
    return []


@pytest.fixture
def mined(shared_path: Callable[..., Path]) -> list[tuple[int, int]]:
    """Return (time, nonce) of each block."""
    data = json.loads(shared_path("vectors", "core", "mainnet_alt.json").read_text())
    return list(zip(data["timestamps"], data["nonces"], strict=True))


@pytest.fixture
def tip(mined: list[tuple[int, int]], tips: list[Position]) -> Position:
    if not tips:
        genesis = MAIN.genesis
        prev = Position(time=genesis.header.time, bits=EASY, version=1, block_hash=genesis.hash)
        for time, nonce in mined[: INTERVAL - 1]:
            prev = extend(prev, make_block(prev, time, nonce, EASY))
        tips.append(prev)
    return tips[0]


def test_every_block_of_the_period_passes(tip: Position, record_count: Callable[[str, int, int], None]) -> None:
    assert tip.height == INTERVAL - 1
    record_count("mainnet_alt headers", tip.height, INTERVAL - 1)


def test_difficulty_rises_fourfold(tip: Position, mined: list[tuple[int, int]]) -> None:
    bits = next_work_required(tip, mined[INTERVAL - 1][0], MAIN)
    assert (bits, difficulty(bits)) == (HARD, 4.0)
    assert permitted_difficulty_transition(MAIN, INTERVAL, EASY, HARD)


def test_first_block_of_the_next_period_meets_the_new_target(tip: Position, mined: list[tuple[int, int]]) -> None:
    time, nonce = mined[INTERVAL - 1]
    assert extend(tip, make_block(tip, time, nonce, HARD)).height == INTERVAL


def test_old_target_is_refused(tip: Position, mined: list[tuple[int, int]]) -> None:
    time, nonce = mined[INTERVAL - 1]
    header = make_block(tip, time, nonce, EASY).header
    with pytest.raises(BlockInvalid, match="bad-diffbits"):
        contextual_check_block_header(header, tip, MAIN, time)
