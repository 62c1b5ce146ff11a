"""Bloom filters, with the reference's vectors."""

import pytest

from clarion.node.net.bloom_filter import UPDATE_ALL, UPDATE_KEYS_ONLY, UPDATE_NONE, BloomFilter, murmur3
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

KEY = bytes.fromhex("02" + "11" * 32)
PAY_TO_KEY = b"\x21" + KEY + b"\xac"


@pytest.mark.parametrize(
    ("seed", "data", "expected"),
    [
        (0x00000000, "", 0x00000000),
        (0xFBA4C795, "", 0x6A396F08),
        (0xFFFFFFFF, "", 0x81F16F39),
        (0x00000000, "00", 0x514E28B7),
        (0xFBA4C795, "00", 0xEA3F0B17),
        (0x00000000, "ff", 0xFD6CF10D),
        (0x00000000, "0011", 0x16C6B7AB),
        (0x00000000, "001122", 0x8EB51C3D),
        (0x00000000, "00112233", 0xB4471BF8),
        (0x00000000, "0011223344", 0xE2301FA8),
        (0x00000000, "00112233445566", 0xB074502C),
        (0x00000000, "0011223344556677", 0x8034D2A0),
        (0x00000000, "001122334455667788", 0xB4698DEF),
    ],
)
def test_murmur3(seed: int, data: str, expected: int) -> None:
    assert murmur3(seed, bytes.fromhex(data)) == expected


@pytest.mark.parametrize(("tweak", "data"), [(0, "614e9b"), (2147483649, "ce4299")])
def test_bits(tweak: int, data: str) -> None:
    items = [bytes.fromhex(text) for text in (
        "99108ad8ed9bb6274d3980bab5a85c048f0950c8", "b5a2c786d9ef4658287ced5914b37a1b4aa32eee",
        "b9300670b4c5366e95b2699e8b18bc75e5f729c5",
    )]  # fmt: skip
    bloom = BloomFilter(bytes(3), 5, tweak, UPDATE_ALL)
    for item in items:
        bloom.add(item)
    assert bytes(bloom._data).hex() == data
    assert all(item in bloom for item in items)
    assert bytes.fromhex("19108ad8ed9bb6274d3980bab5a85c048f0950c8") not in bloom


def pay(script: bytes, *, prevout: bytes = bytes(36), script_sig: bytes = b"") -> Transaction:
    return Transaction(2, [TxIn(prevout, script_sig)], [TxOut(1, script)])  # type: ignore[arg-type]


def filter_of(item: bytes, flags: int = UPDATE_NONE) -> BloomFilter:
    bloom = BloomFilter(bytes(1000), 10, 7, flags)
    bloom.add(item)
    return bloom


def test_what_matches_a_transaction() -> None:
    tx = pay(PAY_TO_KEY, prevout=b"\x05" * 36, script_sig=b"\x03abc")
    for item in (tx.txid, KEY, b"\x05" * 36, b"abc"):
        assert filter_of(item).matches(tx)
    assert not filter_of(b"other").matches(tx)
    assert BloomFilter(b"", 0, 0, 0).matches(tx)


@pytest.mark.parametrize(
    ("flags", "script", "followed"),
    [
        (UPDATE_NONE, PAY_TO_KEY, False),
        (UPDATE_ALL, PAY_TO_KEY, True),
        (UPDATE_KEYS_ONLY, PAY_TO_KEY, True),
        (UPDATE_KEYS_ONLY, b"\x21" + KEY, False),
        (UPDATE_ALL, b"\x21" + KEY + b"\x4c", True),
    ],
)
def test_what_spends_a_match_is_wanted_too(flags: int, script: bytes, followed: bool) -> None:
    bloom = filter_of(KEY, flags)
    tx = pay(script)
    assert bloom.matches(tx)
    spend = pay(b"", prevout=tx.txid + bytes(4))
    assert bloom.matches(spend) is followed


def test_limits() -> None:
    assert BloomFilter(bytes(36_000), 50, 0, 0).is_within_limits
    assert not BloomFilter(bytes(36_001), 50, 0, 0).is_within_limits
    assert not BloomFilter(bytes(1), 51, 0, 0).is_within_limits
