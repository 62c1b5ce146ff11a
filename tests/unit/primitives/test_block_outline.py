"""Txids without decoding: the same as with it, for real blocks and made ones, and nothing for what is cut off."""

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from clarion.node.errors import DecodeError
from clarion.node.params.networks import main_params
from clarion.node.primitives.block import Block
from clarion.node.primitives.block_outline import outline_block
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

GENESIS = main_params().genesis


def assert_outline(raw: bytes) -> None:
    block, outline = Block.parse(raw), outline_block(raw)
    assert outline.txids == [tx.txid for tx in block.txs]
    assert (outline.base_size, outline.size, outline.coinbase.raw) == (block.base_size, len(raw), block.txs[0].raw)


@pytest.mark.parametrize(
    "name", ["mainnet-300025", "mainnet-413567", "mainnet-426884", "testnet3-928816", "testnet3-928831"]
)
def test_real_blocks(shared_path: Callable[..., Path], name: str) -> None:
    assert_outline(lzma.decompress(shared_path("blocks", f"{name}.block.xz").read_bytes()))


def large(count: int) -> Transaction:
    """Return a transaction whose every length needs more than one byte, from `count` on."""
    inputs = [TxIn(OutPoint(bytes(36)), bytes(count), 7, (bytes(count),) * count) for _ in range(count)]
    return Transaction(2, inputs, [TxOut(5, bytes(count))] * count, 9)


@pytest.mark.parametrize("count", [1, 252, 253, 300])
def test_long_lengths(count: int) -> None:
    assert_outline(Block(GENESIS.header, [GENESIS.txs[0], large(count), GENESIS.txs[0]]).raw)


def test_every_truncation_is_refused() -> None:
    raw = Block(GENESIS.header, [GENESIS.txs[0], large(3), large(2)]).raw
    for size in range(len(raw)):
        with pytest.raises(DecodeError):
            outline_block(raw[:size])
    with pytest.raises(DecodeError):
        outline_block(raw + b"x")
