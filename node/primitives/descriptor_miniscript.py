"""Miniscripts as script expressions of descriptors.

Owns: which of them are refused, and why, in the reference's words. Never: miniscript's own rules.
"""

from collections.abc import Callable

from clarion.node.primitives.address import AddressFormat
from clarion.node.primitives.descriptor_checksum import DescriptorError
from clarion.node.primitives.descriptor_context import ScriptContext
from clarion.node.primitives.descriptor_expression import Expression, miniscript_maker
from clarion.node.primitives.descriptor_key import Key
from clarion.node.primitives.descriptor_keys import parse_keys, rows_of
from clarion.node.primitives.miniscript.node import Node, fold
from clarion.node.primitives.miniscript.parsing import parse_miniscript
from clarion.node.primitives.miniscript.types import has
from clarion.node.primitives.miniscript.writing import to_text


def parse_miniscript_expression(text: str, context: ScriptContext, network: AddressFormat) -> list[Expression] | None:
    """Return the alternatives of a miniscript, None if the text is none. Raises DescriptorError."""
    tapscript = context is not ScriptContext.P2WSH
    columns: list[list[Key]] = []
    problems: list[DescriptorError] = []

    def read_key(key: str) -> bytes | None:
        try:
            columns.append(parse_keys(key, ScriptContext.P2TR if tapscript else context, network))
        except DescriptorError as error:
            problems.append(error)
            return None
        return (len(columns) - 1).to_bytes(4, "big")

    node = parse_miniscript(text, read_key, tapscript=tapscript)
    # What is wrong with a key says more than that the whole is no miniscript.
    if problems and str(problems[0]):
        raise problems[0]
    if node is None:
        return None
    if context not in (ScriptContext.P2WSH, ScriptContext.P2TR):
        raise DescriptorError("Miniscript expressions can only be used in wsh or tr.")
    _check_sanity(node, [column[0] for column in columns])
    rows = rows_of(columns, "Miniscript: Multipath derivation paths have mismatched lengths")
    make = miniscript_maker(node)
    return [Expression("", make, keys=keys, text=_text_of(node)) for keys in rows]


def _text_of(node: Node) -> Callable[[Expression], str]:
    return lambda expression: _text(node, expression.keys)


def _text(node: Node, keys: tuple[Key, ...] | list[Key]) -> str:
    return to_text(node, lambda number: str(keys[int.from_bytes(number, "big")]))


def _check_sanity(node: Node, keys: list[Key]) -> None:
    """Raise DescriptorError that names the first part that is not sane, unless the whole is."""
    identities = {at.to_bytes(4, "big"): key.public_identity() for at, key in enumerate(keys)}

    def has_duplicates(part: Node) -> bool:
        found = [identities[key] for each in part.walk() for key in each.keys]
        return len(set(found)) != len(found)

    is_sane = has(node.type, "Bs") and node.is_sane_part and not has_duplicates(node)
    if is_sane and node.is_satisfiable:
        return

    def first_insane(part: Node, subs: list[Node | None]) -> Node | None:
        below = next((sub for sub in subs if sub is not None), None)
        if below is not None:
            return below
        return None if part.is_sane_part and not has_duplicates(part) else part

    insane = fold(node, first_insane) or node
    text = _text(insane, keys)
    if not insane.is_valid:
        raise DescriptorError(f"{text} is invalid")
    if is_sane:
        raise DescriptorError(f"{text} is not satisfiable")
    reason = ""
    if not has(insane.type, "m"):
        reason = ": malleable witnesses exist"
    elif insane is node and not has(insane.type, "s"):
        reason = ": witnesses without signature exist"
    elif not has(insane.type, "k"):
        reason = ": contains mixes of timelocks expressed in blocks and seconds"
    elif has_duplicates(insane):
        reason = ": contains duplicate public keys"
    elif not insane.has_valid_satisfactions:
        reason = ": needs witnesses that may exceed resource limits"
    raise DescriptorError(f"{text} is not sane{reason}")
