"""Coins as the reference stores and dumps them: short forms of numbers, amounts and common scripts (its compressor.h).

Owns: the encoding and its decoding. Never: files, which coins there are.
"""

from clarion.node.errors import DecodeError, EndOfData
from clarion.node.primitives.keys import is_valid_pubkey, uncompressed_pubkey

_SPECIAL_SCRIPTS = 6
"""So many lengths stand for kinds of scripts; longer ones are shifted by it."""

_POWERS: list[int] = [10**exponent for exponent in range(10)]
_MAX_SCRIPT_SIZE = 10_000
_MAX_LENGTH = 2**32 - 1
_OP_RETURN = b"\x6a"

_SMALL = [bytes((number,)) for number in range(0x80)]


def varint(number: int) -> bytes:
    """Return the reference's VARINT: big-endian groups of 7 bits, each but the last one less and marked by the top bit."""
    if number < 0x80:
        return _SMALL[number]
    groups = [number & 0x7F]
    while number > 0x7F:
        number = (number >> 7) - 1
        groups.append(number & 0x7F | 0x80)
    groups.reverse()
    return bytes(groups)


def compress_amount(value: int) -> int:
    """Return a number that is small for round amounts (satoshis)."""
    if value == 0:
        return 0
    exponent = 0
    while exponent < 9 and value % 10 == 0:
        value //= 10
        exponent += 1
    if exponent < 9:
        value, digit = divmod(value, 10)
        return 1 + (value * 9 + digit - 1) * 10 + exponent
    return 1 + (value - 1) * 10 + 9


def compress_script(script: bytes) -> bytes:
    """Return a script's short form: 21 or 33 bytes for P2PKH, P2SH and P2PK, else the script behind its length."""
    length = len(script)
    if length == 25 and script.startswith(b"\x76\xa9\x14") and script.endswith(b"\x88\xac"):
        return b"\x00" + script[3:23]
    if length == 23 and script.startswith(b"\xa9\x14") and script[22] == 0x87:
        return b"\x01" + script[2:22]
    if length == 35 and script[0] == 33 and script[34] == 0xAC and script[1] in (2, 3):
        return script[1:34]
    # Only a point of the curve can be told from its first coordinate.
    if length == 67 and script[0] == 65 and script[66] == 0xAC and script[1] == 4 and is_valid_pubkey(script[1:66]):
        return bytes((4 | script[65] & 1,)) + script[2:34]
    return varint(length + _SPECIAL_SCRIPTS) + script


def compress_coin(value: int, code: int, script: bytes) -> bytes:
    """Return a coin as the reference writes it; `code` is 2 * height + (1 for a coinbase)."""
    return varint(code) + varint(compress_amount(value)) + compress_script(script)


def read_varint(data: bytes, at: int, limit: int) -> tuple[int, int]:
    """Return (number, where it ends) of a VARINT at `at`. Raises DecodeError above `limit`, EndOfData."""
    number = 0
    while True:
        if at >= len(data):
            raise EndOfData("the number is cut off")
        byte = data[at]
        at += 1
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            break
        number += 1
        if number > limit:
            break
    if number > limit:
        raise DecodeError("the number is too large")
    return number, at


def decompress_amount(number: int) -> int:
    """Return the satoshis of a short form. It may be any 64-bit number: whether it is money is the caller's question."""
    if number == 0:
        return 0
    number, exponent = divmod(number - 1, 10)
    if exponent < 9:
        number, digit = divmod(number, 9)
        return (number * 10 + digit + 1) * _POWERS[exponent]
    return (number + 1) * _POWERS[9]


def read_script(data: bytes, at: int) -> tuple[bytes, int]:
    """Return (script, where its short form ends). The end may lie behind the data's, which is the caller's question.

    As in the reference a form that stands for no script gives an empty one, and an overlong script one that can't be spent.
    """
    kind, at = read_varint(data, at, _MAX_LENGTH)
    if kind == 0:
        return b"\x76\xa9\x14" + data[at : at + 20] + b"\x88\xac", at + 20
    if kind == 1:
        return b"\xa9\x14" + data[at : at + 20] + b"\x87", at + 20
    if kind < _SPECIAL_SCRIPTS:
        return _pubkey_script(kind, data[at : at + 32]), at + 32
    length = kind - _SPECIAL_SCRIPTS
    return data[at : at + length] if length <= _MAX_SCRIPT_SIZE else _OP_RETURN, at + length


def _pubkey_script(kind: int, coordinate: bytes) -> bytes:
    if kind < 4:
        return bytes((33, kind)) + coordinate + b"\xac"
    key = uncompressed_pubkey(bytes((kind - 2,)) + coordinate)
    return b"" if key is None else b"\x41" + key + b"\xac"
