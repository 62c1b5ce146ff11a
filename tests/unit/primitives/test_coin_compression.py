"""Short forms of numbers, amounts and scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarion.node.primitives.coin_compression import compress_amount, compress_coin, compress_script, varint

GENERATOR = bytes.fromhex(
    "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
    "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"
)


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8000"),
        (255, "807f"),
        (256, "8100"),
        (16_383, "fe7f"),
        (16_384, "ff00"),
        (16_511, "ff7f"),
        (16_512, "808000"),
        (65_535, "82fe7f"),
        (2**32, "8efefeff00"),
    ],
)
def test_numbers(number: int, encoded: str) -> None:
    assert varint(number).hex() == encoded


@pytest.mark.parametrize(
    ("value", "short"),
    [
        (0, 0),
        (1, 1),
        (1_000_000, 7),
        (100_000_000, 9),
        (50 * 10**8, 0x32),
        (21_000_000 * 10**8, 0x1406F40),
    ],
)
def test_amounts(value: int, short: int) -> None:
    assert compress_amount(value) == short


@given(st.integers(0, 21_000_000 * 10**8))
def test_amounts_can_be_told_from_their_short_forms(value: int) -> None:
    assert _expand(compress_amount(value)) == value


def _expand(short: int) -> int:
    if short == 0:
        return 0
    rest, exponent = divmod(short - 1, 10)
    if exponent == 9:
        return int((rest + 1) * 10**9)
    return int((rest // 9 * 10 + rest % 9 + 1) * 10**exponent)


@pytest.mark.parametrize(
    ("script", "short"),
    [
        (b"\x76\xa9\x14" + bytes(20) + b"\x88\xac", b"\x00" + bytes(20)),
        (b"\xa9\x14" + bytes(20) + b"\x87", b"\x01" + bytes(20)),
        (b"\x21\x02" + bytes(32) + b"\xac", b"\x02" + bytes(32)),
        (b"\x21\x03" + bytes(32) + b"\xac", b"\x03" + bytes(32)),
        (b"\x41" + GENERATOR + b"\xac", b"\x04" + GENERATOR[1:33]),
        (b"", b"\x06"),
        (b"\x00\x14" + bytes(20), b"\x1c\x00\x14" + bytes(20)),
    ],
    ids=["P2PKH", "P2SH", "P2PK-even", "P2PK-odd", "P2PK-long", "empty", "P2WPKH"],
)
def test_scripts(script: bytes, short: bytes) -> None:
    assert compress_script(script) == short


@pytest.mark.parametrize(
    "script",
    [
        b"\x41\x04" + b"\x11" * 64 + b"\xac",
        b"\x41\x06" + GENERATOR[1:] + b"\xac",
        b"\x21\x05" + bytes(32) + b"\xac",
        b"\x76\xa9\x14" + bytes(20) + b"\x88\xad",
    ],
    ids=["no-point", "hybrid", "no-key", "another-opcode"],
)
def test_what_only_looks_like_a_common_script_stays(script: bytes) -> None:
    assert compress_script(script) == varint(len(script) + 6) + script


def test_a_coin_of_a_coinbase() -> None:
    assert compress_coin(50 * 10**8, 2 * 100 + 1, b"\x51") == varint(201) + b"\x32" + b"\x07\x51"
