"""Stack items read as numbers and as booleans, by the rules of execution.

Owns: size limits and minimality of numbers. Never: the plain encoding, which primitives own.
"""

from clarion.node.primitives.script import decode_number
from clarion.node.script.errors import ScriptError, ScriptFailure

DEFAULT_MAX_NUMBER_SIZE = 4
"""Longest operand in bytes; results may be longer but can't be used as numbers again."""

LOCK_TIME_MAX_NUMBER_SIZE = 5
"""Longest operand of CHECKLOCKTIMEVERIFY and CHECKSEQUENCEVERIFY, which hold unsigned 32-bit numbers."""


def read_number(item: bytes, require_minimal: bool, max_size: int = DEFAULT_MAX_NUMBER_SIZE) -> int:
    """Return the number that `item` encodes.

    Raises ScriptFailure(SCRIPTNUM) if it is longer than `max_size` bytes or, with `require_minimal`, padded.
    """
    size = len(item)
    if size > max_size:
        raise ScriptFailure(ScriptError.SCRIPTNUM)
    # A last byte without value bits is padding, unless it carries the sign for a full byte before it.
    if require_minimal and size and not item[-1] & 0x7F and (size == 1 or not item[-2] & 0x80):
        raise ScriptFailure(ScriptError.SCRIPTNUM)
    return decode_number(item)


def cast_to_bool(item: bytes) -> bool:
    """Return whether `item` is true: any byte is not zero, but a lone sign bit at the end is negative zero."""
    if not item:
        return False
    if item[-1] not in (0, 0x80):
        return True
    return any(item[:-1])
