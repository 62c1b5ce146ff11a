"""Base58 and Base58Check text.

Owns: the alphabet and the checksum. Never: what the payload means.
"""

from clarion.node.errors import DecodeError
from clarion.node.primitives.hashes import sha256d

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES = {char: value for value, char in enumerate(_ALPHABET)}
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_PAIR_BASE = len(_PAIRS)
_WHITESPACE = " \t\n\v\f\r"


def encode_base58(data: bytes) -> str:
    """Return the Base58 text of `data`; each leading zero byte is a `1`."""
    number = int.from_bytes(data, "big")
    pairs = []
    # Two digits at a time: half the divisions of a long number.
    while number:
        number, digits = divmod(number, _PAIR_BASE)
        pairs.append(_PAIRS[digits])
    text = "".join(reversed(pairs)).lstrip("1")
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def decode_base58(text: str, max_bytes: int) -> bytes:
    """Return the bytes of a Base58 text; blanks around it are skipped, as in the reference.

    Raises DecodeError if a character is not in the alphabet or more than `max_bytes` come out.
    """
    text = text.strip(_WHITESPACE)
    digits = text.lstrip("1")
    zeros = len(text) - len(digits)
    # A byte takes at least 1.36 digits: refuse what is far too long before multiplying it out.
    if zeros > max_bytes or len(digits) > 2 * max_bytes:
        raise DecodeError(f"Base58 text is longer than {max_bytes} bytes")
    number = 0
    for char in digits:
        value = _VALUES.get(char)
        if value is None:
            raise DecodeError(f"{char!r} is not a Base58 character")
        number = number * 58 + value
    size = (number.bit_length() + 7) // 8
    if zeros + size > max_bytes:
        raise DecodeError(f"Base58 text is longer than {max_bytes} bytes")
    return bytes(zeros) + number.to_bytes(size, "big")


def encode_base58check(payload: bytes) -> str:
    """Return the Base58 text of `payload` and the first four bytes of its double SHA-256."""
    return encode_base58(payload + sha256d(payload)[:4])


def decode_base58check(text: str, max_bytes: int) -> bytes:
    """Return the payload of a Base58Check text. Raises DecodeError, also for one of more than `max_bytes`."""
    data = decode_base58(text, max_bytes + 4)
    if len(data) < 4 or sha256d(data[:-4])[:4] != data[-4:]:
        raise DecodeError("Base58 checksum does not match")
    return data[:-4]
