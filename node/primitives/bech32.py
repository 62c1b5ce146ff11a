"""Bech32 and Bech32m text (BIP173, BIP350).

Owns: the alphabet, the checksum and the regrouping of bits. Never: what the data means; finding where an error is
(see `bech32_errors`).
"""

from collections.abc import Iterable, Sequence

from clarion.node.errors import DecodeError

CHARSET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
CHARSET_VALUES = {char: value for value, char in enumerate(CHARSET)}
CHECKSUM_SIZE = 6
MAX_LENGTH = 90
"""Longest text that the checksum protects (BIP173)."""

BECH32 = 1
"""Checksum constant of Bech32: witness version 0."""
BECH32M = 0x2BC830A3
"""Checksum constant of Bech32m: witness versions 1 to 16."""

_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def _reduction(top: int) -> int:
    value = 0
    for bit, generator in enumerate(_GENERATOR):
        if top >> bit & 1:
            value ^= generator
    return value


_REDUCTIONS = [_reduction(top) for top in range(32)]


def polymod(values: Iterable[int]) -> int:
    """Return BIP173's checksum polynomial over 5-bit values."""
    check = 1
    for value in values:
        check = (check & 0x1FFFFFF) << 5 ^ value ^ _REDUCTIONS[check >> 25]
    return check


def expand_prefix(prefix: str) -> list[int]:
    """Return the human-readable prefix as the 5-bit values that the checksum covers."""
    codes = prefix.encode()
    return [code >> 5 for code in codes] + [0] + [code & 31 for code in codes]


def encode_bech32(prefix: str, data: Sequence[int], constant: int) -> str:
    """Return the text of 5-bit values behind a lower-case prefix; `constant` is BECH32 or BECH32M."""
    check = polymod([*expand_prefix(prefix), *data, 0, 0, 0, 0, 0, 0]) ^ constant
    checksum = [check >> 5 * (5 - i) & 31 for i in range(CHECKSUM_SIZE)]
    return prefix + "1" + "".join([CHARSET[value] for value in [*data, *checksum]])


def decode_bech32(text: str) -> tuple[str, list[int], int]:
    """Return (prefix, 5-bit values without the checksum, BECH32 or BECH32M). Raises DecodeError."""
    if len(text) > MAX_LENGTH or not is_printable_one_case(text):
        raise DecodeError("not a Bech32 text: its length, its characters or their case")
    text = text.lower()
    prefix, separator, data = text.rpartition("1")
    if not separator or not prefix or len(data) < CHECKSUM_SIZE:
        raise DecodeError("not a Bech32 text: no separator where one must be")
    try:
        values = [CHARSET_VALUES[char] for char in data]
    except KeyError:
        raise DecodeError("not a Bech32 text: characters outside the alphabet") from None
    constant = polymod(expand_prefix(prefix) + values)
    if constant not in (BECH32, BECH32M):
        raise DecodeError("Bech32 checksum does not match")
    return prefix, values[:-CHECKSUM_SIZE], constant


def is_printable_one_case(text: str) -> bool:
    """Whether all characters are printable ASCII without blanks and none differs in case."""
    return all(33 <= ord(char) <= 126 for char in text) and (text == text.lower() or text == text.upper())


def to_5_bits(data: bytes) -> list[int]:
    """Return bytes as 5-bit groups, padded with zero bits at the end."""
    count = (len(data) * 8 + 4) // 5
    number = int.from_bytes(data, "big") << (count * 5 - len(data) * 8)
    return [number >> shift & 31 for shift in range((count - 1) * 5, -1, -5)]


def from_5_bits(values: Sequence[int]) -> bytes:
    """Return 5-bit groups as bytes. Raises DecodeError if the padding is longer than 4 bits or not zero."""
    number = 0
    for value in values:
        number = number << 5 | value
    size, padding = divmod(len(values) * 5, 8)
    if padding > 4 or number & ((1 << padding) - 1):
        raise DecodeError("Invalid padding in Bech32 data section")
    return (number >> padding).to_bytes(size, "big")
