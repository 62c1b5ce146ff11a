"""Blocks: encoding, truncation, and a real one."""

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from clarion.node.errors import DecodeError
from clarion.node.params.networks import main_params
from clarion.node.primitives.block import Block, BlockHeader, parse_block
from clarion.node.primitives.ids import NULL_OUTPOINT, hash_to_hex
from clarion.node.primitives.merkle import merkle_root
from clarion.node.primitives.transaction import Transaction, TxOut

GENESIS = main_params().genesis


def test_header_round_trip_and_hash() -> None:
    header = BlockHeader.parse(GENESIS.raw)
    assert header.serialize() == GENESIS.raw[:80]
    assert hash_to_hex(header.hash) == "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"
    assert BlockHeader(1, bytes(32), header.merkle_root, header.time, header.bits, header.nonce).hash == header.hash


def test_header_version_is_signed() -> None:
    header = BlockHeader.parse(b"\xff" * 80)
    assert (header.version, header.time) == (-1, 0xFFFFFFFF)


def test_block_built_from_parts_equals_its_bytes() -> None:
    block = Block(GENESIS.header, list(GENESIS.txs))
    assert block.raw == GENESIS.raw
    assert (block.base_size, block.weight) == (285, 1140)


def test_every_truncation_is_refused() -> None:
    for size in range(0, len(GENESIS.raw), 7):
        with pytest.raises(DecodeError):
            Block.parse(GENESIS.raw[:size])


def test_bytes_behind_are_left_or_refused() -> None:
    block, end = parse_block(b"..." + GENESIS.raw + b"more", 3)
    assert (block.raw, end) == (GENESIS.raw, 3 + len(GENESIS.raw))
    with pytest.raises(DecodeError, match="4 bytes behind"):
        Block.parse(GENESIS.raw + b"more")


def test_real_block(shared_path: Callable[..., Path]) -> None:
    raw = lzma.decompress(shared_path("blocks", "mainnet-413567.block.xz").read_bytes())
    block = Block.parse(raw)
    assert hash_to_hex(block.hash) == "0000000000000000025aff8be8a55df8f89c77296db6198f272d6577325d4069"
    assert (len(block.txs), block.raw) == (1557, raw)
    assert b"".join([tx.raw for tx in block.txs]) == raw[83:]
    assert merkle_root([tx.txid for tx in block.txs]) == (block.header.merkle_root, False)


def test_real_segwit_block(shared_path: Callable[..., Path]) -> None:
    raw = lzma.decompress(shared_path("blocks", "testnet3-928831.block.xz").read_bytes())
    block = Block.parse(raw)
    assert merkle_root([tx.txid for tx in block.txs]) == (block.header.merkle_root, False)
    assert block.base_size < len(raw)
    for tx in block.txs:
        assert tx.base_size == len(tx.serialize_without_witness())


@pytest.mark.parametrize("name", ["mainnet-413567", "testnet3-928831"])
def test_known_transactions_are_taken_as_they_are(shared_path: Callable[..., Path], name: str) -> None:
    raw = lzma.decompress(shared_path("blocks", f"{name}.block.xz").read_bytes())
    plain = Block.parse(raw)
    known = {tx.inputs[0].prevout: tx for tx in plain.txs if len(tx.inputs) < 253}
    block, end = parse_block(raw, known=known.get)
    assert (block.raw, block.base_size, end) == (plain.raw, plain.base_size, len(raw))
    taken = [tx is other for tx, other in zip(block.txs, plain.txs, strict=True)]
    assert taken == [len(tx.inputs) < 253 for tx in plain.txs]


def test_another_spender_of_the_same_output_is_no_known_transaction() -> None:
    rival = Transaction(1, GENESIS.txs[0].inputs, [TxOut(1, b"")])
    block, _ = parse_block(GENESIS.raw, known=lambda prevout: rival if prevout == NULL_OUTPOINT else None)
    assert [tx.txid for tx in block.txs] == [GENESIS.txs[0].txid]


def test_truncated_blocks_are_refused_whatever_is_known() -> None:
    for size in range(80, len(GENESIS.raw), 7):
        with pytest.raises(DecodeError):
            parse_block(GENESIS.raw[:size], known=lambda prevout: GENESIS.txs[0])
