"""Miniscripts as script expressions of descriptors.

Owns: which of them are refused, and why, in the reference's words. Never: miniscript's own rules.
"""

from collections.abc import Callable
from typing import NamedTuple

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
    identities = [key.public_identity() for key in keys]
    insane = _first_insane(node, identities)
    is_sane = insane is None and has(node.type, "Bs")
    if is_sane and node.is_satisfiable:
        return
    insane = insane or node
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
    elif _has_duplicates(insane, identities):
        reason = ": contains duplicate public keys"
    elif not insane.has_valid_satisfactions:
        reason = ": needs witnesses that may exceed resource limits"
    raise DescriptorError(f"{text} is not sane{reason}")


def _has_duplicates(node: Node, identities: list[bytes]) -> bool:
    found = [identities[int.from_bytes(key, "big")] for each in node.walk() for key in each.keys]
    return len(set(found)) != len(found)


class _Part(NamedTuple):
    """The first insane node of a part, and the keys in the part; those of insane ones are not needed."""

    insane: Node | None
    keys: set[bytes]


def _first_insane(root: Node, identities: list[bytes]) -> Node | None:
    """Return the first part, deepest first, that is not sane on its own or holds a key twice, None if all are sane."""

    def combine(node: Node, subs: list[_Part]) -> _Part:
        for sub in subs:
            if sub.insane is not None:
                return sub
        own = [identities[int.from_bytes(key, "big")] for key in node.keys]
        keys = set(own)
        count = len(own)
        for sub in subs:
            count += len(sub.keys)
            # Adding the smaller set to the larger one keeps deep trees cheap.
            small, large = sorted((keys, sub.keys), key=len)
            large |= small
            keys = large
        return _Part(None if node.is_sane_part and len(keys) == count else node, keys)

    return fold(root, combine).insane
