"""Bytes that are not the block of their hash: every single bit counts."""

from clarion.node.primitives.block import Block
from clarion.node.storage.block_damage import find_damage
from helpers import chain_builder as build
from helpers.chain_builder import Built
from helpers.world import KEY, spend

BASE = build.make_block(build.genesis(), script=KEY.wpkh)
SEGWIT = build.make_block(BASE, [spend([BASE.coinbase_output()])])


def block_of(built: Built) -> Block:
    assert built.block is not None
    return built.block


def test_whole_blocks_have_none() -> None:
    for built in (BASE, SEGWIT):
        assert find_damage(block_of(built).raw, block_of(built).hash) is None


def test_every_bit_is_covered() -> None:
    block = block_of(SEGWIT)
    assert block.txs[1].has_witness
    for at in range(len(block.raw)):
        for bit in range(8):
            spoilt = bytearray(block.raw)
            spoilt[at] ^= 1 << bit
            assert find_damage(bytes(spoilt), block.hash), (at, bit)


def test_reasons() -> None:
    block = block_of(SEGWIT)
    other = block_of(BASE)
    assert find_damage(other.raw, block.hash) == "another block's header is in its place"
    assert "bad-txnmrklroot" in str(find_damage(block.raw[:-1] + b"\x80", block.hash))
    reserved = block.raw.index(b"\x01\x20" + bytes(32)) + 2
    spoilt = block.raw[:reserved] + b"\x01" + block.raw[reserved + 1 :]
    assert "bad-witness-merkle-match" in str(find_damage(spoilt, block.hash))
    assert "can't be decoded" in str(find_damage(block.raw[:-1], block.hash))
    assert "can't be decoded" in str(find_damage(b"", block.hash))
