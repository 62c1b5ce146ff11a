"""Keys of script expressions, by the place where they stand.

Owns: which keys may stand where, and lists of alternatives. Never: the keys' own forms.
"""

from collections.abc import Sequence
from typing import TypeVar

from clarion.node.primitives.address import AddressFormat
from clarion.node.primitives.descriptor_checksum import DescriptorError
from clarion.node.primitives.descriptor_context import ScriptContext
from clarion.node.primitives.descriptor_key import Key, parse_key
from clarion.node.primitives.descriptor_musig import NAME, parse_musig

_UNCOMPRESSED = (ScriptContext.TOP, ScriptContext.P2SH)
_Item = TypeVar("_Item")


def parse_keys(text: str, context: ScriptContext, network: AddressFormat, label: str = "") -> list[Key]:
    """Return the keys of an expression, one for each of its alternatives. Raises DescriptorError with `label` in front."""
    try:
        if not text.startswith(NAME):
            xonly = context is ScriptContext.P2TR
            return list(parse_key(text, network, uncompressed=context in _UNCOMPRESSED, xonly=xonly))
        if context is not ScriptContext.P2TR:
            raise DescriptorError("musig() is only allowed in tr() and rawtr()")
        return parse_musig(text, lambda argument: parse_keys(argument, ScriptContext.MUSIG, network))
    except DescriptorError as error:
        raise DescriptorError(f"{label}{error}") from None


def rows_of(columns: Sequence[Sequence[_Item]], mismatch: str) -> list[tuple[_Item, ...]]:
    """Return what belongs to each alternative; what has no alternatives is in all of them. Raises DescriptorError."""
    count = max(len(column) for column in columns)
    if any(len(column) not in (1, count) for column in columns):
        raise DescriptorError(mismatch)
    return [tuple([column[at if len(column) > 1 else 0] for column in columns]) for at in range(count)]
