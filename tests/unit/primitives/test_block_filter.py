"""Compact filters: what counts, and what matches. The vectors are in tests/vectors."""

import random

import pytest

from clarion.node.errors import DecodeError
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.block_filter import basic_elements, encode_filter, match_any
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import NULL_OUTPOINT
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

BLOCK_HASH = bytes(range(32))


def test_scripts_that_count() -> None:
    outputs = [TxOut(1, script) for script in (b"\x51", b"", b"\x6a\x01\x02", b"\x52", b"\x51")]
    block = Block(BlockHeader(1, bytes(32), bytes(32), 0, 0, 0), [Transaction(1, [TxIn(NULL_OUTPOINT)], outputs)])
    spent = [[Coin(1, b"\x53", 2), Coin(1, b"", 2)], [Coin(1, b"\x6a", 2)]]
    assert basic_elements(block, spent) == {b"\x51", b"\x52", b"\x53", b"\x6a"}


def test_every_element_matches_and_few_others_do() -> None:
    rng = random.Random(3)
    inside = [rng.randbytes(22) for _ in range(300)]
    encoded = encode_filter(BLOCK_HASH, set(inside))
    assert all(match_any(encoded, BLOCK_HASH, [script]) for script in inside)
    outside = [rng.randbytes(22) for _ in range(300)]
    assert sum(match_any(encoded, BLOCK_HASH, [script]) for script in outside) <= 1
    assert match_any(encoded, BLOCK_HASH, [*outside, inside[7]])


def test_empty_filter() -> None:
    encoded = encode_filter(BLOCK_HASH, set())
    assert encoded == b"\x00"
    assert not match_any(encoded, BLOCK_HASH, [b"\x51"])
    assert not match_any(encode_filter(BLOCK_HASH, {b"\x51"}), BLOCK_HASH, [])


@pytest.mark.parametrize("encoded", [b"", b"\x02\x01", b"\x01"])
def test_broken_filter(encoded: bytes) -> None:
    with pytest.raises(DecodeError):
        match_any(encoded, BLOCK_HASH, [b"\x51"])
