"""The eight characters behind a descriptor's `#`.

Owns: the checksum (BIP380). Never: what the descriptor says.
"""

from clarion.node.errors import DecodeError
from clarion.node.primitives.bech32 import CHARSET

_INPUT = "0123456789()[],'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#\"\\ "
_POSITIONS = {char: (position & 31, position >> 5) for position, char in enumerate(_INPUT)}
_GENERATOR = (0xF5DEE51989, 0xA9FDCA3312, 0x1BAB10E32D, 0x3706B1677A, 0x644D626FFD)


def _reduction(top: int) -> int:
    value = 0
    for bit, generator in enumerate(_GENERATOR):
        if top >> bit & 1:
            value ^= generator
    return value


_REDUCTIONS = [_reduction(top) for top in range(32)]


class DescriptorError(DecodeError):
    """A text that is no descriptor that we can use; `str()` is the reference's message where it has one."""


def descriptor_checksum(text: str) -> str:
    """Return the checksum of a descriptor without one. Raises DescriptorError on characters outside the set."""
    symbols = []
    groups = 0
    try:
        for count, char in enumerate(text, 1):
            position, group = _POSITIONS[char]
            symbols.append(position)
            groups = groups * 3 + group
            # Three characters share one more symbol, which tells their groups.
            if count % 3 == 0:
                symbols.append(groups)
                groups = 0
    except KeyError:
        raise DescriptorError("Invalid characters in payload") from None
    if len(text) % 3:
        symbols.append(groups)
    check = 1
    for symbol in [*symbols, 0, 0, 0, 0, 0, 0, 0, 0]:
        check = (check & 0x7FFFFFFFF) << 5 ^ symbol ^ _REDUCTIONS[check >> 35]
    check ^= 1
    return "".join([CHARSET[check >> 5 * (7 - i) & 31] for i in range(8)])


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
