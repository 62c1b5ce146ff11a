"""The eight characters behind a descriptor's `#`.

Owns: the checksum (BIP380). Never: what the descriptor says.
"""

from clarion.node.errors import DecodeError
from clarion.node.primitives.bech32 import CHARSET

_INPUT = "0123456789()[],'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#\"\\ "
_POSITIONS = {char: (position & 31, position >> 5) for position, char in enumerate(_INPUT)}
_GENERATOR = (0xF5DEE51989, 0xA9FDCA3312, 0x1BAB10E32D, 0x3706B1677A, 0x644D626FFD)


# Three characters make four 5-bit symbols: their positions in their groups of 32, then one that tells the three
# groups. What each adds to the four symbols is tabulated by its place among the three.
_FIRST = {char: position << 15 | group * 9 for char, (position, group) in _POSITIONS.items()}
_SECOND = {char: position << 10 | group * 3 for char, (position, group) in _POSITIONS.items()}
_THIRD = {char: position << 5 | group for char, (position, group) in _POSITIONS.items()}


def _shift(check: int, symbol: int) -> int:
    """Return the checksum's polynomial times x plus `symbol`, modulo the generator."""
    top = check >> 35
    check = (check & 0x7FFFFFFFF) << 5 ^ symbol
    for bit, generator in enumerate(_GENERATOR):
        if top >> bit & 1:
            check ^= generator
    return check


def _shift_four(check: int) -> int:
    for _ in range(4):
        check = _shift(check, 0)
    return check


# What four shifts make of the twenty bits that they push out, ten bits at a time.
_UPPER = [_shift_four(top << 30) for top in range(1024)]
_LOWER = [_shift_four(top << 20) for top in range(1024)]


class DescriptorError(DecodeError):
    """A text that is no descriptor that we can use; `str()` is the reference's message where it has one."""


def descriptor_checksum(text: str) -> str:
    """Return the checksum of a descriptor without one. Raises DescriptorError on characters outside the set."""
    whole = len(text) - len(text) % 3
    check = 1
    try:
        for first, second, third in zip(text[:whole:3], text[1:whole:3], text[2:whole:3], strict=True):
            symbols = _FIRST[first] + _SECOND[second] + _THIRD[third]
            check = (check & 0xFFFFF) << 20 ^ symbols ^ _UPPER[check >> 30] ^ _LOWER[check >> 20 & 1023]
        groups = 0
        for char in text[whole:]:
            position, group = _POSITIONS[char]
            check = _shift(check, position)
            groups = groups * 3 + group
    except KeyError:
        raise DescriptorError("Invalid characters in payload") from None
    if whole != len(text):
        check = _shift(check, groups)
    for _ in range(2):
        check = (check & 0xFFFFF) << 20 ^ _UPPER[check >> 30] ^ _LOWER[check >> 20 & 1023]
    check ^= 1
    return "".join([CHARSET[check >> shift & 31] for shift in range(35, -1, -5)])


def add_checksum(text: str) -> str:
    """Return the descriptor with `#` and its checksum behind it."""
    return f"{text}#{descriptor_checksum(text)}"


def split_checksum(text: str, *, required: bool = False) -> str:
    """Return the descriptor without its checksum, which is checked if there is one.

    Raises DescriptorError with the reference's message, also if the checksum is `required` and missing.
    """
    payload, *checksums = text.split("#")
    if len(checksums) > 1:
        raise DescriptorError("Multiple '#' symbols")
    if not checksums and required:
        raise DescriptorError("Missing checksum")
    if checksums and len(checksums[0]) != 8:
        raise DescriptorError(f"Expected 8 character checksum, not {len(checksums[0])} characters")
    computed = descriptor_checksum(payload)
    if checksums and checksums[0] != computed:
        raise DescriptorError(f"Provided checksum '{checksums[0]}' does not match computed checksum '{computed}'")
    return payload
